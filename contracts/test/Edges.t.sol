// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Base} from "./Base.sol";
import {MandateRouter} from "../src/MandateRouter.sol";
import {ReentrantToken} from "../src/testing/ReentrantToken.sol";

/// @notice A token that reports a failed transfer and does not revert.
contract FalseToken {
    function transferFrom(address, address, uint256) external pure returns (bool) {
        return false;
    }
}

/// @notice The edges of the router's rules: the last second, the same ref, the same
/// token called again.
contract EdgesTest is Base {
    address private constant SECOND = address(0xCAFE);

    function setUp() external {
        deploy();
    }

    function grantOf(address token_, address[] memory payees) private returns (bytes32) {
        MandateRouter.Grant memory g = terms(bytes32(uint256(uint160(token_))));
        (g.token, g.payees) = (token_, payees);
        VM.prank(owner);
        return router.grant(g);
    }

    function payeesOf(address first, address second) private pure returns (address[] memory payees) {
        payees = new address[](2);
        (payees[0], payees[1]) = (first, second);
    }

    function chargeCall(bytes32 id, address payee, uint256 amount, bytes32 ref) private view returns (bytes memory) {
        bytes memory s = signed(SESSION_KEY, router.hashCharge(id, payee, amount, ref, block.timestamp));
        return abi.encodeCall(router.charge, (id, payee, amount, ref, block.timestamp, s));
    }

    function chargeBy(address operator, bytes memory call_) private returns (bool ok, bytes memory answer) {
        VM.prank(operator);
        return address(router).call(call_);
    }

    function test_ChargeInTheLastSecond() external {
        bytes32 id = granted(0);
        uint256 end = router.mandate(id).expiresAt;
        VM.warp(end - 1);
        require(charge(id, PAYEE, 1, "before"), "the second before the end");
        VM.warp(end);
        (bool ok, bytes memory why) = chargeBy(OPERATOR, chargeCall(id, PAYEE, 1, "at"));
        require(!ok && bytes4(why) == MandateRouter.Expired.selector, "charged at the end");
    }

    function test_EachMonthHasItsOwnCap() external {
        bytes32 id = granted(0);
        charge(id, PAYEE, PER_CHARGE, "1");
        charge(id, PAYEE, PER_CHARGE, "2");
        charge(id, PAYEE, PER_MONTH - 2 * PER_CHARGE, "3");
        (bool ok, bytes memory why) = chargeBy(OPERATOR, chargeCall(id, PAYEE, 1, "4"));
        require(!ok && bytes4(why) == MandateRouter.OverMonthCap.selector, "over the month's cap");
        VM.warp(block.timestamp + 32 days);
        require(router.remaining(id) == PER_MONTH, "nothing is spent in the new month");
        require(charge(id, PAYEE, PER_CHARGE, "5"), "charged in the new month");
        require(router.remaining(id) == PER_MONTH - PER_CHARGE, "and counted in it");
    }

    function test_GrantIdIsOfOneChainAndRouter() external {
        bytes32 id = router.grantIdOf(owner, "salt");
        require(new MandateRouter(ADMIN).grantIdOf(owner, "salt") != id, "another router");
        VM.chainId(block.chainid + 1);
        require(router.grantIdOf(owner, "salt") != id, "another chain");
    }

    function test_GrantThatEndsNow() external {
        MandateRouter.Grant memory g = terms("now");
        g.expiresAt = uint64(block.timestamp);
        VM.expectRevert(MandateRouter.BadGrant.selector);
        VM.prank(owner);
        router.grant(g);
        g.expiresAt = uint64(block.timestamp + 1);
        VM.prank(owner);
        router.grant(g);
    }

    function test_RefIsBoundToItsPayee() external {
        bytes32 id = grantOf(address(token), payeesOf(PAYEE, SECOND));
        require(charge(id, PAYEE, 1e6, "ref"), "first");
        (bool ok, bytes memory why) = chargeBy(OPERATOR, chargeCall(id, SECOND, 1e6, "ref"));
        require(!ok && bytes4(why) == MandateRouter.RefReused.selector, "the ref of another payee");
        (, bool same) = router.charged(id, "ref", SECOND, 1e6);
        require(!same && token.balanceOf(SECOND) == 0, "the other payee was not paid");
    }

    function test_RefuseNamesItsOwner() external {
        bytes32 salt = "refused";
        VM.recordLogs();
        VM.prank(owner);
        router.refuse(salt);
        bytes32[] memory topics = VM.getRecordedLogs()[0].topics;
        require(topics[0] == MandateRouter.MandateRevoked.selector && topics[1] == router.grantIdOf(owner, salt), "the grant");
        require(topics[2] == bytes32(uint256(uint160(owner))), "the owner");
        require(topics[3] == bytes32(uint256(uint160(owner))), "who refused");
    }

    function test_SameRefWithinItsOwnTransfer() external {
        ReentrantToken again = new ReentrantToken();
        again.mint(owner, 1e12);
        VM.prank(owner);
        again.approve(address(router), type(uint256).max);
        VM.prank(ADMIN);
        router.setOperator(address(again), true);
        bytes32 id = grantOf(address(again), payeesOf(PAYEE, SECOND));
        bytes memory call_ = chargeCall(id, PAYEE, 1e6, "ref");
        again.arm(address(router), call_);
        (bool ok,) = chargeBy(OPERATOR, call_);
        require(ok && again.succeeded() && !abi.decode(again.answer(), (bool)), "the inner call moved");
        require(again.balanceOf(PAYEE) == 1e6 && router.remaining(id) == PER_MONTH - 1e6, "moved and counted once");
    }

    function test_TokenThatOnlyReportsFailure() external {
        FalseToken quiet = new FalseToken();
        bytes32 id = grantOf(address(quiet), payeesOf(PAYEE, SECOND));
        (bool ok,) = chargeBy(OPERATOR, chargeCall(id, PAYEE, 1e6, "ref"));
        require(!ok, "a transfer that failed was counted");
        (bool any,) = router.charged(id, "ref", PAYEE, 1e6);
        require(!any && router.remaining(id) == PER_MONTH, "and nothing is left of it");
    }
}
