// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// @title A token that calls back before it moves anything
/// @notice It is for tests of re-entrancy.
contract ReentrantToken is ERC20 {
    address private _target;
    bytes private _call;

    /// @notice Whether the call succeeded, and what it returned.
    bool public succeeded;
    bytes public answer;

    constructor() ERC20("Reentrant", "RE") {}

    /// @notice Creates tokens. Any account may call it.
    function mint(address to, uint256 value) external {
        _mint(to, value);
    }

    /// @notice Sets the call that the next transferFrom makes.
    function arm(address target, bytes calldata call_) external {
        (_target, _call) = (target, call_);
    }

    /// @inheritdoc ERC20
    function transferFrom(address from, address to, uint256 value) public override returns (bool) {
        if (_target != address(0)) {
            address target = _target;
            _target = address(0);
            (succeeded, answer) = target.call(_call);
        }
        return super.transferFrom(from, to, value);
    }
}
