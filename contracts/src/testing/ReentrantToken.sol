// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// @title A token that calls back before it moves anything
/// @notice For tests of re-entrancy alone.
contract ReentrantToken is ERC20 {
    address private _target;
    bytes private _call;

    /// @notice Whether the call went through, and what it answered.
    bool public succeeded;
    bytes public answer;

    constructor() ERC20("Reentrant", "RE") {}

    /// @notice Makes tokens, for whoever asks.
    function mint(address to, uint256 value) external {
        _mint(to, value);
    }

    /// @notice What to call on the next transferFrom.
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
