// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {ERC1967Utils} from "@openzeppelin/contracts/proxy/ERC1967/ERC1967Utils.sol";
import {Proxy} from "@openzeppelin/contracts/proxy/Proxy.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";
import {MessageHashUtils} from "@openzeppelin/contracts/utils/cryptography/MessageHashUtils.sol";
import {TestUSDC} from "../TestUSDC.sol";

/// @title The test dollar as the deployed USDC behaves
/// @notice It can be paused, accounts can be blocked, an unlimited allowance is used
/// up like any other, and reverts have the deployed token's texts. Any account may act
/// as the issuer: it is worth nothing.
/// @dev It runs behind [IssuedUSDCProxy], on the storage of a [TestUSDC].
contract IssuedUSDC is TestUSDC {
    event Pause();
    event Unpause();
    event Blacklisted(address indexed account);
    event UnBlacklisted(address indexed account);

    /// @notice Whether all transfers and approvals are stopped.
    bool public paused;

    /// @notice Whether an account can neither send nor receive nor approve.
    mapping(address account => bool) public isBlacklisted;

    /// @dev Name and version are in the proxy's storage.
    constructor() TestUSDC("", "") {}

    modifier whenNotPaused() {
        require(!paused, "Pausable: paused");
        _;
    }

    modifier notBlacklisted(address account) {
        require(!isBlacklisted[account], "Blacklistable: account is blacklisted");
        _;
    }

    // --------------------------------------------------------------- issuer

    function pause() external {
        paused = true;
        emit Pause();
    }

    function unpause() external {
        paused = false;
        emit Unpause();
    }

    function blacklist(address account) external {
        isBlacklisted[account] = true;
        emit Blacklisted(account);
    }

    function unBlacklist(address account) external {
        isBlacklisted[account] = false;
        emit UnBlacklisted(account);
    }

    // --------------------------------------------------------------- ERC-20

    function approve(address spender, uint256 value)
        public
        override
        whenNotPaused
        notBlacklisted(msg.sender)
        notBlacklisted(spender)
        returns (bool)
    {
        return super.approve(spender, value);
    }

    function transfer(address to, uint256 value)
        public
        override
        whenNotPaused
        notBlacklisted(msg.sender)
        notBlacklisted(to)
        returns (bool)
    {
        return super.transfer(to, value);
    }

    function transferFrom(address from, address to, uint256 value)
        public
        override
        whenNotPaused
        notBlacklisted(msg.sender)
        notBlacklisted(from)
        notBlacklisted(to)
        returns (bool)
    {
        return super.transferFrom(from, to, value);
    }

    function _spendAllowance(address owner, address spender, uint256 value) internal override {
        uint256 allowed = allowance(owner, spender);
        require(allowed >= value, "ERC20: transfer amount exceeds allowance");
        _approve(owner, spender, allowed - value, false);
    }

    function _update(address from, address to, uint256 value) internal override {
        require(from == address(0) || balanceOf(from) >= value, "ERC20: transfer amount exceeds balance");
        super._update(from, to, value);
    }

    // --------------------------------------------------- EIP-2612, EIP-3009

    function permit(address owner, address spender, uint256 value, uint256 deadline, bytes memory signature)
        public
        override
        whenNotPaused
        notBlacklisted(owner)
        notBlacklisted(spender)
    {
        require(block.timestamp <= deadline, "FiatTokenV2: permit is expired");
        super.permit(owner, spender, value, deadline, signature);
    }

    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) public override {
        require(msg.sender == to, "FiatTokenV2: caller must be the payee");
        super.receiveWithAuthorization(from, to, value, validAfter, validBefore, nonce, signature);
    }

    function cancelAuthorization(address authorizer, bytes32 nonce, bytes memory signature) public override whenNotPaused {
        _requireUnused(authorizer, nonce);
        super.cancelAuthorization(authorizer, nonce, signature);
    }

    function _useAuthorization(
        bytes32 typeHash,
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) internal override whenNotPaused notBlacklisted(from) notBlacklisted(to) {
        require(block.timestamp > validAfter, "FiatTokenV2: authorization is not yet valid");
        require(block.timestamp < validBefore, "FiatTokenV2: authorization is expired");
        _requireUnused(from, nonce);
        super._useAuthorization(typeHash, from, to, value, validAfter, validBefore, nonce, signature);
    }

    function _requireUnused(address authorizer, bytes32 nonce) private view {
        require(!authorizationState[authorizer][nonce], "FiatTokenV2: authorization is used or canceled");
    }

    function _check(address signer, bytes32 structHash, bytes memory signature) internal view override {
        bytes32 digest = MessageHashUtils.toTypedDataHash(DOMAIN_SEPARATOR(), structHash);
        require(SignatureChecker.isValidSignatureNow(signer, digest, signature), "FiatTokenV2: invalid signature");
    }
}

/// @title A proxy whose implementation is in the storage slot of ERC-1967
contract IssuedUSDCProxy is Proxy {
    constructor(address implementation) {
        ERC1967Utils.upgradeToAndCall(implementation, "");
    }

    function _implementation() internal view override returns (address) {
        return ERC1967Utils.getImplementation();
    }
}
