// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Base} from "./Base.sol";

/// @notice Every function of the token that takes a signature, with random arguments.
contract TestUSDCTest is Base {
    function setUp() external {
        deploy();
    }

    uint256 private constant LATER = 4_000_000_000;

    function digest(bytes32 structHash) private view returns (bytes32) {
        return keccak256(abi.encodePacked(hex"1901", token.DOMAIN_SEPARATOR(), structHash));
    }

    function transferHash(address to, uint256 value, uint256 from, uint256 until, bytes32 nonce) private view returns (bytes32) {
        return digest(
            keccak256(abi.encode(token.TRANSFER_WITH_AUTHORIZATION_TYPEHASH(), owner, to, value, from, until, nonce))
        );
    }

    function testFuzz_Transfer(uint256 value, bytes32 nonce) external {
        value = bound(value, 0, 1e12);
        (uint8 v, bytes32 r, bytes32 s) = VM.sign(OWNER_KEY, transferHash(PAYEE, value, 0, LATER, nonce));
        token.transferWithAuthorization(owner, PAYEE, value, 0, LATER, nonce, v, r, s);
        require(token.balanceOf(PAYEE) == value && token.authorizationState(owner, nonce), "moved once");
        VM.expectRevert();
        token.transferWithAuthorization(owner, PAYEE, value, 0, LATER, nonce, v, r, s);
    }

    function testFuzz_TransferSignedByAnother(uint256 key, uint256 value) external {
        key = bound(key, 1, type(uint128).max);
        VM.assume(key != OWNER_KEY);
        bytes memory s = signed(key, transferHash(PAYEE, value, 0, LATER, 0));
        expectInvalidSignature();
        token.transferWithAuthorization(owner, PAYEE, value, 0, LATER, 0, s);
    }

    function testFuzz_TransferWindow(uint256 from, uint256 until) external {
        bool open = block.timestamp > from && block.timestamp < until;
        bytes memory s = signed(OWNER_KEY, transferHash(PAYEE, 1, from, until, 0));
        if (!open) VM.expectRevert();
        token.transferWithAuthorization(owner, PAYEE, 1, from, until, 0, s);
    }

    function testFuzz_Receive(uint256 value, bytes32 nonce, address thief) external {
        VM.assume(thief != PAYEE);
        value = bound(value, 0, 1e12);
        (uint8 v, bytes32 r, bytes32 s) = VM.sign(
            OWNER_KEY,
            digest(keccak256(abi.encode(token.RECEIVE_WITH_AUTHORIZATION_TYPEHASH(), owner, PAYEE, value, 0, LATER, nonce)))
        );
        VM.expectRevert();
        VM.prank(thief);
        token.receiveWithAuthorization(owner, PAYEE, value, 0, LATER, nonce, v, r, s);
        VM.prank(PAYEE);
        token.receiveWithAuthorization(owner, PAYEE, value, 0, LATER, nonce, v, r, s);
        require(token.balanceOf(PAYEE) == value, "moved");
    }

    function testFuzz_Cancel(bytes32 nonce) external {
        (uint8 v, bytes32 r, bytes32 s) =
            VM.sign(OWNER_KEY, digest(keccak256(abi.encode(token.CANCEL_AUTHORIZATION_TYPEHASH(), owner, nonce))));
        token.cancelAuthorization(owner, nonce, v, r, s);
        VM.expectRevert();
        token.cancelAuthorization(owner, nonce, v, r, s);
        bytes memory t = signed(OWNER_KEY, transferHash(PAYEE, 1, 0, LATER, nonce));
        VM.expectRevert();
        token.transferWithAuthorization(owner, PAYEE, 1, 0, LATER, nonce, t);
    }

    function testFuzz_Permit(uint256 value, uint256 deadline) external {
        bytes32 h = digest(keccak256(abi.encode(token.PERMIT_TYPEHASH(), owner, PAYEE, value, token.nonces(owner), deadline)));
        (uint8 v, bytes32 r, bytes32 s) = VM.sign(OWNER_KEY, h);
        if (block.timestamp > deadline) {
            VM.expectRevert();
            token.permit(owner, PAYEE, value, deadline, v, r, s);
            return;
        }
        token.permit(owner, PAYEE, value, deadline, v, r, s);
        require(token.allowance(owner, PAYEE) == value, "allowance");
        expectInvalidSignature();
        token.permit(owner, PAYEE, value, deadline, v, r, s);
    }

    function test_Facts() external view {
        require(token.decimals() == 6 && keccak256(bytes(token.name())) == keccak256("USDC"), "facts");
    }
}
