// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {MandateRouter} from "../src/MandateRouter.sol";
import {Base} from "./Base.sol";

/// @notice What each call costs, for the gas snapshot: no random arguments here.
contract GasTest is Base {
    bytes32 private _fresh;
    bytes32 private _used;

    function setUp() external {
        deploy();
        _fresh = granted(bytes32(uint256(1)));
        _used = granted(bytes32(uint256(2)));
        charge(_used, PAYEE, 1e6, "first");
    }

    function test_Gas_ChargeFirst() external {
        charge(_fresh, PAYEE, 1e6, "charge");
    }

    function test_Gas_ChargeAgain() external {
        charge(_used, PAYEE, 1e6, "charge");
    }

    function test_Gas_ChargeNextMonth() external {
        VM.warp(block.timestamp + 32 days);
        charge(_used, PAYEE, 1e6, "charge");
    }

    function test_Gas_ChargeRepeated() external {
        require(!charge(_used, PAYEE, 1e6, "first"), "moved twice");
    }

    function test_Gas_Grant() external {
        granted(bytes32(uint256(3)));
    }

    function test_Gas_GrantWithSignature() external {
        MandateRouter.Grant memory g = terms(bytes32(uint256(3)));
        router.grantWithSignature(g, signed(OWNER_KEY, router.hashGrant(g)));
    }

    function test_Gas_GrantWithPermit() external {
        MandateRouter.Grant memory g = terms(bytes32(uint256(3)));
        bytes32 structHash =
            keccak256(abi.encode(token.PERMIT_TYPEHASH(), owner, address(router), 1e9, token.nonces(owner), block.timestamp));
        MandateRouter.Permit memory p;
        (p.value, p.deadline) = (1e9, block.timestamp);
        (p.v, p.r, p.s) = VM.sign(OWNER_KEY, keccak256(abi.encodePacked(hex"1901", token.DOMAIN_SEPARATOR(), structHash)));
        router.grantWithPermit(g, signed(OWNER_KEY, router.hashGrant(g)), p);
    }

    function test_Gas_Revoke() external {
        VM.prank(owner);
        router.revoke(_used);
    }

    function test_Gas_RevokeWithSignature() external {
        router.revokeWithSignature(_used, signed(OWNER_KEY, router.hashRevoke(_used)));
    }
}
