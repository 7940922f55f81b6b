// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

/// @title A token whose transfers succeed and do nothing
/// @notice It is for tests that a successful call is not enough for a transfer.
contract SilentToken {
    /// @notice Returns the same large balance for each account.
    function balanceOf(address) external pure returns (uint256) {
        return type(uint128).max;
    }

    /// @notice Returns the same large allowance for each account.
    function allowance(address, address) external pure returns (uint256) {
        return type(uint128).max;
    }

    /// @notice Returns that no authorization was used.
    function authorizationState(address, bytes32) external pure returns (bool) {
        return false;
    }

    /// @notice Accepts every other call, and does nothing.
    fallback() external {}
}
