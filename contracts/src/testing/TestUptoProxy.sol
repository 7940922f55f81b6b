// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {TestPermit2} from "./TestPermit2.sol";

/// @title A stand-in for the proxy of x402's scheme upto on development chains
/// @notice Settles payments up to a signed amount through Permit2: the functions, witness and
/// checks of x402UptoPermit2Proxy, at its address. It is for tests only. Real networks have
/// the proxy itself, and this contract must never be deployed on one.
/// @dev It has no immutables, so a genesis can have its runtime code.
contract TestUptoProxy {
    struct Witness {
        address to;
        address facilitator;
        uint256 validAfter;
    }

    event Settled();

    error AmountExceedsPermitted();
    error InvalidDestination();
    error InvalidOwner();
    error PaymentTooEarly();
    error UnauthorizedFacilitator();

    /// @notice Permit2, at its address on every chain.
    TestPermit2 public constant PERMIT2 = TestPermit2(0x000000000022D473030F116dDEE9F6B43aC78BA3);

    string public constant WITNESS_TYPE_STRING =
        "Witness witness)TokenPermissions(address token,uint256 amount)Witness(address to,address facilitator,uint256 validAfter)";
    bytes32 public constant WITNESS_TYPEHASH = keccak256("Witness(address to,address facilitator,uint256 validAfter)");

    /// @notice Moves an amount that the owner's signature permits, to the payee that it names.
    /// Only the facilitator that it names may call it.
    function settle(
        TestPermit2.PermitTransferFrom calldata permit,
        uint256 amount,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) external {
        if (amount > permit.permitted.amount) revert AmountExceedsPermitted();
        if (owner == address(0)) revert InvalidOwner();
        if (witness.to == address(0)) revert InvalidDestination();
        if (msg.sender != witness.facilitator) revert UnauthorizedFacilitator();
        if (block.timestamp < witness.validAfter) revert PaymentTooEarly();
        bytes32 hash = keccak256(abi.encode(WITNESS_TYPEHASH, witness.to, witness.facilitator, witness.validAfter));
        PERMIT2.permitWitnessTransferFrom(
            permit, TestPermit2.SignatureTransferDetails(witness.to, amount), owner, hash, WITNESS_TYPE_STRING, signature
        );
        emit Settled();
    }
}
