// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

/// @title A token whose transfers do nothing and say nothing
/// @notice For tests that a call that succeeds is no transfer.
contract SilentToken {
    /// @notice Answers any balance.
    function balanceOf(address) external pure returns (uint256) {
        return type(uint128).max;
    }

    /// @notice Answers any allowance.
    function allowance(address, address) external pure returns (uint256) {
        return type(uint128).max;
    }

    /// @notice Has never seen an authorization used.
    function authorizationState(address, bytes32) external pure returns (bool) {
        return false;
    }

    /// @notice Takes every other call, and does nothing.
    fallback() external {}
}
