// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Base} from "./Base.sol";
import {MandateRouterTest} from "./MandateRouter.t.sol";
import {TestUSDCTest} from "./TestUSDC.t.sol";
import {IssuedUSDC} from "../src/testing/IssuedUSDC.sol";

/// @notice The token's own tests on the issued form.
contract IssuedUSDCTest is TestUSDCTest {
    constructor() {
        issuedForm = true;
    }
}

/// @notice The router's tests on the issued form.
contract MandateRouterOnIssuedUSDCTest is MandateRouterTest {
    constructor() {
        issuedForm = true;
    }
}

/// @notice What the issuer can do to a charge.
contract IssuerTest is Base {
    bytes32 private id;

    constructor() {
        issuedForm = true;
    }

    function setUp() external {
        deploy();
        id = granted("issuer");
    }

    function issued() private view returns (IssuedUSDC) {
        return IssuedUSDC(address(token));
    }

    function chargeFails(string memory text) private {
        uint256 before = token.balanceOf(owner);
        bytes memory s = signed(SESSION_KEY, router.hashCharge(id, PAYEE, 1e6, "ref", block.timestamp));
        expectText(text);
        VM.prank(OPERATOR);
        router.charge(id, PAYEE, 1e6, "ref", block.timestamp, s);
        (bool any,) = router.charged(id, "ref", PAYEE, 1e6);
        require(!any && router.remaining(id) == PER_MONTH && token.balanceOf(owner) == before, "nothing is left of it");
    }

    function test_PausedThenCharged() external {
        issued().pause();
        chargeFails("Pausable: paused");
        issued().unpause();
        require(charge(id, PAYEE, 1e6, "ref"), "charged after the pause");
    }

    function test_BlockedAccounts() external {
        address[3] memory blocked = [owner, PAYEE, address(router)];
        for (uint256 i = 0; i < blocked.length; ++i) {
            issued().blacklist(blocked[i]);
            chargeFails("Blacklistable: account is blacklisted");
            issued().unBlacklist(blocked[i]);
        }
        issued().blacklist(OPERATOR);
        require(charge(id, PAYEE, 1e6, "ref"), "who brings a charge does not matter to the token");
    }

    function test_AllowanceIsUsedUp() external {
        charge(id, PAYEE, 1e6, "ref");
        require(token.allowance(owner, address(router)) == type(uint256).max - 1e6, "an unlimited allowance is counted");
    }

    function test_Texts() external {
        VM.prank(owner);
        token.approve(address(router), 1);
        chargeFails("ERC20: transfer amount exceeds allowance");
        VM.prank(owner);
        token.approve(address(router), 1e6);
        uint256 all = token.balanceOf(owner);
        VM.prank(owner);
        token.transfer(address(1), all);
        chargeFails("ERC20: transfer amount exceeds balance");
    }
}
