// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Handler} from "./Handler.t.sol";
import {MandateRouter} from "../src/MandateRouter.sol";

/// @notice What holds after any sequence of calls.
contract InvariantsTest {
    Handler private handler;
    MandateRouter private router;
    uint256 private start;
    uint256 private supply;

    function setUp() external {
        handler = new Handler();
        router = handler.routerOf();
        start = handler.balance(handler.ownerOf());
        supply = handler.supply();
    }

    function targetContracts() external view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(handler);
    }

    function invariant_OwnerLosesWhatWasCharged() external view {
        require(start - handler.balance(handler.ownerOf()) == handler.moved());
    }

    function invariant_PayeesGetWhatOwnerLoses() external view {
        require(handler.balance(address(0xBEEF)) == handler.moved());
    }

    function invariant_RouterHoldsNothing() external view {
        require(handler.balance(address(router)) == 0);
    }

    function invariant_NoMonthOverItsCap() external view {
        for (uint256 i = 0; i < handler.count(); ++i) {
            bytes32 id = handler.grants(i);
            uint32[] memory months = handler.monthsOf(id);
            for (uint256 j = 0; j < months.length; ++j) {
                require(handler.spent(id, months[j]) <= router.mandate(id).maxPerMonth);
            }
        }
    }

    function invariant_NoChargeOverItsCap() external view {
        require(handler.largest() <= 10e6);
    }

    function invariant_NothingWithoutTheSessionKey() external view {
        require(handler.stolen() == 0);
    }

    function invariant_NothingAfterTheEnd() external view {
        require(handler.afterEnd() == 0);
    }

    function invariant_NothingWhilePaused() external view {
        require(handler.whilePaused() == 0);
    }

    function invariant_NoRefTwice() external view {
        require(handler.twice() == 0);
    }

    function invariant_NobodyButPayees() external view {
        require(handler.strangers() == 0 && handler.balance(address(0x57A)) == 0);
    }

    function invariant_RemainingWithinTheCap() external view {
        for (uint256 i = 0; i < handler.count(); ++i) {
            bytes32 id = handler.grants(i);
            uint256 left = router.remaining(id);
            require(left <= router.mandate(id).maxPerMonth);
            require(handler.ended(id) > block.timestamp || left == 0);
        }
    }

    function invariant_SupplyStays() external view {
        require(handler.supply() == supply);
    }
}
