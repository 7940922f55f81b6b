// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Base} from "./Base.sol";
import {MandateRouter} from "../src/MandateRouter.sol";

/// @notice What the invariant tests do at random, and what they remember of it.
contract Handler is Base {
    bytes32[] public grants;
    mapping(bytes32 id => mapping(uint32 month => uint256)) public spent;
    mapping(bytes32 id => uint32[]) public months;
    mapping(bytes32 id => mapping(bytes32 ref => uint256)) public refs;
    mapping(bytes32 id => uint256) public ended;

    uint256 public moved;
    uint256 public largest;
    uint256 public stolen;
    uint256 public afterEnd;
    uint256 public whilePaused;
    uint256 public twice;
    uint256 public strangers;
    uint256 public charges;

    constructor() {
        deploy();
    }

    function count() external view returns (uint256) {
        return grants.length;
    }

    function monthsOf(bytes32 id) external view returns (uint32[] memory) {
        return months[id];
    }

    function routerOf() external view returns (MandateRouter) {
        return router;
    }

    function balance(address of_) external view returns (uint256) {
        return token.balanceOf(of_);
    }

    function supply() external view returns (uint256) {
        return token.totalSupply();
    }

    function ownerOf() external view returns (address) {
        return owner;
    }

    function makeGrant(bytes32 salt, uint96 perCharge, uint96 perMonth, uint256 lifetime) external {
        if (grants.length == 5) return;
        MandateRouter.Grant memory g = terms(salt);
        g.maxPerCharge = uint96(bound(perCharge, 1, PER_CHARGE));
        g.maxPerMonth = uint96(bound(perMonth, g.maxPerCharge, PER_MONTH));
        g.expiresAt = uint64(block.timestamp + bound(lifetime, 1 days, 200 days));
        VM.prank(owner);
        bytes32 id = router.grant(g);
        ended[id] = g.expiresAt;
        grants.push(id);
    }

    function tryCharge(uint256 which, uint256 amount, uint256 ref, bool stranger, bool thief) external {
        if (grants.length == 0) return;
        bytes32 id = grants[which % grants.length];
        address payee = stranger ? address(0x57A) : PAYEE;
        amount = bound(amount, 0, uint256(router.mandate(id).maxPerCharge) + 1);
        bytes32 r = bytes32(ref % 24);
        uint256 before = token.balanceOf(owner);
        uint256 deadline = block.timestamp;
        bytes memory s = signed(thief ? OTHER_KEY : SESSION_KEY, router.hashCharge(id, payee, amount, r, deadline));
        bool paused = router.paused();
        VM.prank(OPERATOR);
        try router.charge(id, payee, amount, r, deadline, s) {} catch {}
        note(id, r, before - token.balanceOf(owner), payee, thief, paused);
    }

    function note(bytes32 id, bytes32 r, uint256 took, address payee, bool thief, bool paused) private {
        if (took == 0) return;
        moved += took;
        ++charges;
        if (thief) stolen += took;
        if (payee != PAYEE) strangers += took;
        if (paused) whilePaused += took;
        if (block.timestamp >= ended[id]) afterEnd += took;
        if (refs[id][r] != 0) twice += took;
        if (took > largest) largest = took;
        refs[id][r] = took;
        uint32 month = router.monthOf(block.timestamp);
        if (spent[id][month] == 0) months[id].push(month);
        spent[id][month] += took;
    }

    function tryRevoke(uint256 which, uint256 who) external {
        if (grants.length == 0) return;
        bytes32 id = grants[which % grants.length];
        address by = [owner, OPERATOR, ADMIN, address(0x57A)][who % 4];
        VM.prank(by);
        try router.revoke(id) {
            ended[id] = 0;
        } catch {}
    }

    function advance(uint256 by) external {
        VM.warp(block.timestamp + bound(by, 1 hours, 20 days));
    }

    function toggle() external {
        bool paused = router.paused();
        VM.prank(ADMIN);
        if (paused) router.unpause();
        else router.pause();
    }
}
