// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Base} from "./Base.sol";
import {MandateRouter} from "../src/MandateRouter.sol";

/// @notice Every function of the router with random arguments.
contract MandateRouterTest is Base {
    function setUp() external {
        deploy();
    }

    function testFuzz_ChargeMovesExactly(uint256 amount, bytes32 ref) external {
        amount = bound(amount, 1, PER_CHARGE);
        bytes32 id = granted(0);
        uint256 before = token.balanceOf(owner);
        require(charge(id, PAYEE, amount, ref), "moved");
        require(token.balanceOf(PAYEE) == amount, "payee has the amount");
        require(token.balanceOf(owner) == before - amount, "owner has paid it");
        require(router.remaining(id) == PER_MONTH - amount, "and it is counted");
        require(!charge(id, PAYEE, amount, ref), "a repeat moves nothing");
        require(token.balanceOf(PAYEE) == amount, "and says so");
        (bool any, bool same) = router.charged(id, ref, PAYEE, amount);
        require(any && same, "the ref is known");
    }

    function testFuzz_ChargeOverCap(uint256 amount, bytes32 ref) external {
        VM.assume(amount > PER_CHARGE);
        bytes32 id = granted(0);
        bytes memory s = signed(SESSION_KEY, router.hashCharge(id, PAYEE, amount, ref, block.timestamp));
        VM.expectRevert();
        VM.prank(OPERATOR);
        router.charge(id, PAYEE, amount, ref, block.timestamp, s);
    }

    function testFuzz_RefReused(uint256 amount, uint256 other, bytes32 ref) external {
        amount = bound(amount, 1, PER_CHARGE);
        other = bound(other, 1, PER_CHARGE);
        VM.assume(amount != other);
        bytes32 id = granted(0);
        charge(id, PAYEE, amount, ref);
        bytes memory s = signed(SESSION_KEY, router.hashCharge(id, PAYEE, other, ref, block.timestamp));
        VM.expectRevert();
        VM.prank(OPERATOR);
        router.charge(id, PAYEE, other, ref, block.timestamp, s);
    }

    function testFuzz_ChargeByStranger(address caller, uint256 amount) external {
        VM.assume(caller != OPERATOR);
        amount = bound(amount, 1, PER_CHARGE);
        bytes32 id = granted(0);
        bytes memory s = signed(SESSION_KEY, router.hashCharge(id, PAYEE, amount, 0, block.timestamp));
        VM.expectRevert();
        VM.prank(caller);
        router.charge(id, PAYEE, amount, 0, block.timestamp, s);
    }

    function testFuzz_ChargeSignature(bytes calldata signature, uint256 amount) external {
        amount = bound(amount, 1, PER_CHARGE);
        bytes32 id = granted(0);
        VM.expectRevert(MandateRouter.BadSignature.selector);
        VM.prank(OPERATOR);
        router.charge(id, PAYEE, amount, 0, block.timestamp, signature);
    }

    function testFuzz_ChargeKey(uint256 key) external {
        key = bound(key, 1, type(uint128).max);
        VM.assume(key != SESSION_KEY);
        bytes32 id = granted(0);
        bytes memory s = signed(key, router.hashCharge(id, PAYEE, 1, 0, block.timestamp));
        VM.expectRevert(MandateRouter.BadSignature.selector);
        VM.prank(OPERATOR);
        router.charge(id, PAYEE, 1, 0, block.timestamp, s);
    }

    function testFuzz_ChargeDeadline(uint256 late) external {
        late = bound(late, 1, 300 days);
        bytes32 id = granted(0);
        uint256 deadline = block.timestamp;
        bytes memory s = signed(SESSION_KEY, router.hashCharge(id, PAYEE, 1, 0, deadline));
        VM.warp(deadline + late);
        VM.expectRevert();
        VM.prank(OPERATOR);
        router.charge(id, PAYEE, 1, 0, deadline, s);
    }

    function testFuzz_ChargePayee(address payee) external {
        VM.assume(payee != PAYEE);
        bytes32 id = granted(0);
        bytes memory s = signed(SESSION_KEY, router.hashCharge(id, payee, 1, 0, block.timestamp));
        VM.expectRevert();
        VM.prank(OPERATOR);
        router.charge(id, payee, 1, 0, block.timestamp, s);
        require(!router.isPayee(id, payee), "not a payee");
    }

    function testFuzz_ChargeAfterExpiry(uint256 late) external {
        bytes32 id = granted(0);
        VM.warp(block.timestamp + 365 days + bound(late, 0, 3650 days));
        bytes memory s = signed(SESSION_KEY, router.hashCharge(id, PAYEE, 1, 0, block.timestamp));
        VM.expectRevert();
        VM.prank(OPERATOR);
        router.charge(id, PAYEE, 1, 0, block.timestamp, s);
        require(router.remaining(id) == 0, "nothing is left");
    }

    function testFuzz_ChargeOnOtherChain(uint64 chain) external {
        VM.assume(chain != 0 && chain != block.chainid);
        bytes32 id = granted(0);
        bytes memory s = signed(SESSION_KEY, router.hashCharge(id, PAYEE, 1, 0, block.timestamp));
        VM.chainId(chain);
        VM.expectRevert();
        VM.prank(OPERATOR);
        router.charge(id, PAYEE, 1, 0, block.timestamp, s);
    }

    function testFuzz_GrantOfSomebodyElse(uint256 key, bytes32 salt) external {
        key = bound(key, 1, type(uint128).max);
        VM.assume(key != OWNER_KEY);
        MandateRouter.Grant memory g = terms(salt);
        bytes memory s = signed(key, router.hashGrant(g));
        VM.expectRevert(MandateRouter.BadSignature.selector);
        router.grantWithSignature(g, s);
        VM.expectRevert(MandateRouter.BadSignature.selector);
        VM.prank(VM.addr(key));
        router.grant(g);
    }

    function testFuzz_GrantWithSignature(address caller, bytes32 salt) external {
        MandateRouter.Grant memory g = terms(salt);
        bytes memory s = signed(OWNER_KEY, router.hashGrant(g));
        VM.prank(caller);
        require(router.grantWithSignature(g, s) == router.grantIdOf(owner, salt), "id");
    }

    function testFuzz_ChargeWithoutGrant(bytes32 id) external {
        bytes memory s = signed(SESSION_KEY, router.hashCharge(id, PAYEE, 1, 0, block.timestamp));
        VM.expectRevert();
        VM.prank(OPERATOR);
        router.charge(id, PAYEE, 1, 0, block.timestamp, s);
    }

    function testFuzz_GrantWithPermit(uint256 value, bytes32 salt) external {
        MandateRouter.Grant memory g = terms(salt);
        bytes memory s = signed(OWNER_KEY, router.hashGrant(g));
        bytes32 structHash =
            keccak256(abi.encode(token.PERMIT_TYPEHASH(), owner, address(router), value, token.nonces(owner), block.timestamp));
        MandateRouter.Permit memory p;
        p.value = value;
        p.deadline = block.timestamp;
        (p.v, p.r, p.s) = VM.sign(OWNER_KEY, keccak256(abi.encodePacked(hex"1901", token.DOMAIN_SEPARATOR(), structHash)));
        bytes32 id = router.grantWithPermit(g, s, p);
        require(token.allowance(owner, address(router)) == value, "allowance");
        require(id == router.grantIdOf(owner, salt), "id");
        require(router.mandate(id).state == MandateRouter.State.Active, "active");
        VM.expectRevert();
        router.grantWithPermit(g, s, p);
    }

    function testFuzz_GrantTerms(uint96 perCharge, uint96 perMonth, uint64 expiresAt, bool anyPayee, uint8 payees) external {
        MandateRouter.Grant memory g = terms(0);
        (g.maxPerCharge, g.maxPerMonth, g.expiresAt, g.anyPayee) = (perCharge, perMonth, expiresAt, anyPayee);
        g.payees = new address[](payees % 40);
        bool good = perCharge > 0 && perCharge <= perMonth && expiresAt > block.timestamp
            && g.payees.length <= router.MAX_PAYEES() && anyPayee == (g.payees.length == 0);
        if (!good) VM.expectRevert(MandateRouter.BadGrant.selector);
        VM.prank(owner);
        router.grant(g);
    }

    function testFuzz_Revoke(address caller, bytes32 salt) external {
        bytes32 id = granted(salt);
        bool may = caller == owner || caller == OPERATOR;
        if (!may) VM.expectRevert();
        VM.prank(caller);
        router.revoke(id);
        require((router.mandate(id).state == MandateRouter.State.Revoked) == may, "state");
        VM.prank(OPERATOR);
        router.revoke(id);
        VM.expectRevert();
        VM.prank(owner);
        router.grant(terms(salt));
    }

    function testFuzz_RevokeUnknown(bytes32 id) external {
        VM.expectRevert();
        VM.prank(OPERATOR);
        router.revoke(id);
        VM.expectRevert();
        router.revokeWithSignature(id, "");
    }

    function testFuzz_RevokeWithSignature(uint256 key) external {
        key = bound(key, 1, type(uint128).max);
        bytes32 id = granted(0);
        bytes memory s = signed(key, router.hashRevoke(id));
        if (key != OWNER_KEY) VM.expectRevert(MandateRouter.BadSignature.selector);
        router.revokeWithSignature(id, s);
        router.revokeWithSignature(id, signed(OWNER_KEY, router.hashRevoke(id)));
        require(router.mandate(id).state == MandateRouter.State.Revoked, "revoked");
    }

    function testFuzz_Refuse(address caller, bytes32 salt) external {
        VM.prank(caller);
        router.refuse(salt);
        if (caller == owner) VM.expectRevert();
        VM.prank(owner);
        router.grant(terms(salt));
    }

    function testFuzz_AdminAlone(address caller) external {
        VM.assume(caller != ADMIN);
        VM.expectRevert();
        VM.prank(caller);
        router.pause();
        VM.expectRevert();
        VM.prank(caller);
        router.unpause();
        VM.expectRevert();
        VM.prank(caller);
        router.setOperator(caller, true);
        VM.expectRevert();
        VM.prank(caller);
        router.transferOwnership(caller);
        VM.expectRevert();
        VM.prank(caller);
        router.renounceOwnership();
    }

    function test_AdminCannotRenounce() external {
        VM.expectRevert(MandateRouter.CannotRenounce.selector);
        VM.prank(ADMIN);
        router.renounceOwnership();
    }

    function testFuzz_AdminInTwoSteps(address next) external {
        VM.assume(next != address(0) && next != ADMIN);
        VM.prank(ADMIN);
        router.transferOwnership(next);
        require(router.owner() == ADMIN, "not yet");
        VM.prank(next);
        router.acceptOwnership();
        require(router.owner() == next, "now");
    }

    function testFuzz_Paused(uint256 amount) external {
        amount = bound(amount, 1, PER_CHARGE);
        bytes32 id = granted(0);
        VM.prank(ADMIN);
        router.pause();
        bytes memory s = signed(SESSION_KEY, router.hashCharge(id, PAYEE, amount, 0, block.timestamp));
        VM.expectRevert();
        VM.prank(OPERATOR);
        router.charge(id, PAYEE, amount, 0, block.timestamp, s);
        VM.prank(ADMIN);
        router.unpause();
        require(charge(id, PAYEE, amount, 0), "goes on");
    }

    function testFuzz_MonthCap(uint256 first, uint256 second, uint256 third) external {
        bytes32 id = granted(0);
        uint256[3] memory amounts = [bound(first, 1, PER_CHARGE), bound(second, 1, PER_CHARGE), bound(third, 1, PER_CHARGE)];
        uint256 spent;
        for (uint256 i = 0; i < 3; ++i) {
            bytes memory s = signed(SESSION_KEY, router.hashCharge(id, PAYEE, amounts[i], bytes32(i), block.timestamp));
            bool fits = spent + amounts[i] <= PER_MONTH;
            if (!fits) VM.expectRevert();
            VM.prank(OPERATOR);
            router.charge(id, PAYEE, amounts[i], bytes32(i), block.timestamp, s);
            if (fits) spent += amounts[i];
        }
        require(token.balanceOf(PAYEE) == spent, "no more than the cap");
    }

    /// @notice A month is 28 to 31 days long, and times are in the month between its ends.
    function testFuzz_Months(uint256 timestamp) external view {
        timestamp = bound(timestamp, 0, 8e12);
        uint32 month = router.monthOf(timestamp);
        require(router.monthOf(timestamp + 31 days) > month, "at most 31 days");
        require(router.monthOf(timestamp + 28 days) <= month + 1, "at least 28 days");
        require(router.monthOf(timestamp + 1) >= month, "never back");
        require(router.monthOf(timestamp + 146_097 days) == month + 4800, "400 years are 4800 months");
    }
}
