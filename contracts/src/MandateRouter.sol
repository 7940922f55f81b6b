// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Ownable2Step} from "@openzeppelin/contracts/access/Ownable2Step.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Permit.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";

import {Months} from "./Months.sol";

/// @title Spending mandates on chain
/// @notice A person grants a session key the right to move tokens out of their
/// wallet, up to a cap for each charge and a cap for each calendar month, to
/// named payees or to any, until a date. A holder of the session key, the
/// relayer's key or the administrator's key can never move more than that.
/// @dev The router holds no tokens and takes no fee. It cannot be upgraded. The
/// administrator can pause it and set operators. An operator can submit the charges
/// that a session key has signed, and revoke grants.
contract MandateRouter is EIP712, Ownable2Step, Pausable {
    using SafeERC20 for IERC20;

    /// @notice What an owner signs.
    /// @param owner the account whose tokens may be moved
    /// @param token the token that may be moved
    /// @param sessionKey the key whose signature a charge needs
    /// @param maxPerCharge the most that one charge may move, in base units
    /// @param maxPerMonth the most that all charges of a calendar month (UTC) may move
    /// @param expiresAt the second from which on charges revert
    /// @param anyPayee whether every address may be paid; payees is empty then
    /// @param payees the addresses that may be paid
    /// @param salt makes the grant's id unique among those of its owner
    struct Grant {
        address owner;
        address token;
        address sessionKey;
        uint96 maxPerCharge;
        uint96 maxPerMonth;
        uint64 expiresAt;
        bool anyPayee;
        address[] payees;
        bytes32 salt;
    }

    /// @notice An EIP-2612 permit that goes with a grant, so that its owner pays no gas.
    struct Permit {
        uint256 value;
        uint256 deadline;
        uint8 v;
        bytes32 r;
        bytes32 s;
    }

    /// @notice The state of a grant. Revoked is final.
    enum State {
        None,
        Active,
        Revoked
    }

    /// @notice What the router stores of a grant.
    /// @param month the calendar month that spent counts: year * 12 + month, January being 0
    struct Mandate {
        address owner;
        uint96 maxPerCharge;
        address token;
        uint96 maxPerMonth;
        address sessionKey;
        uint96 spent;
        uint64 expiresAt;
        uint32 month;
        State state;
        bool anyPayee;
    }

    event MandateGranted(
        bytes32 indexed grantId,
        address indexed owner,
        address indexed sessionKey,
        address token,
        uint96 maxPerCharge,
        uint96 maxPerMonth,
        uint64 expiresAt,
        bool anyPayee,
        address[] payees
    );
    event Charged(
        bytes32 indexed grantId, bytes32 indexed ref, address indexed payee, uint256 amount, uint32 month, uint256 spent
    );
    event MandateRevoked(bytes32 indexed grantId, address indexed owner, address indexed by);
    event OperatorSet(address indexed operator, bool enabled);

    error BadGrant();
    error GrantExists(bytes32 grantId);
    error NoGrant(bytes32 grantId);
    error NotRevoker(address caller);
    error NotOperator(address caller);
    error Revoked(bytes32 grantId);
    error Expired(bytes32 grantId);
    error DeadlinePassed(uint256 deadline);
    error BadSignature();
    error BadAmount();
    error PayeeNotAllowed(address payee);
    error OverChargeCap(uint256 amount, uint256 cap);
    error OverMonthCap(uint256 amount, uint256 left);
    error RefReused(bytes32 ref);
    error CannotRenounce();

    /// @notice The most payees that a grant may name.
    uint256 public constant MAX_PAYEES = 32;

    bytes32 private constant GRANT_TYPEHASH = keccak256(
        "Grant(address owner,address token,address sessionKey,uint96 maxPerCharge,uint96 maxPerMonth,uint64 expiresAt,bool anyPayee,address[] payees,bytes32 salt)"
    );
    bytes32 private constant CHARGE_TYPEHASH =
        keccak256("Charge(bytes32 grantId,address payee,uint256 amount,bytes32 ref,uint256 deadline)");
    bytes32 private constant REVOKE_TYPEHASH = keccak256("Revoke(bytes32 grantId)");

    /// @notice Whether an account may submit charges, and revoke any grant.
    mapping(address operator => bool) public isOperator;

    mapping(bytes32 grantId => Mandate) private _mandates;
    mapping(bytes32 grantId => mapping(address payee => bool)) private _payees;
    mapping(bytes32 grantId => mapping(bytes32 ref => bytes32 charge)) private _charges;

    /// @param admin the account that may pause and set operators
    constructor(address admin) EIP712("MandateRouter", "1") Ownable(admin) {}

    // ---------------------------------------------------------------- grants

    /// @notice Grants. The caller must be the owner.
    /// @return grantId the grant's id
    function grant(Grant calldata g) external whenNotPaused returns (bytes32 grantId) {
        if (msg.sender != g.owner) revert BadSignature();
        return _grant(g);
    }

    /// @notice Grants with the owner's signature. Any account may submit it.
    /// @param signature by the owner's key, or valid for the owner's contract (ERC-1271)
    function grantWithSignature(Grant calldata g, bytes calldata signature)
        external
        whenNotPaused
        returns (bytes32 grantId)
    {
        _checkGrant(g, signature);
        return _grant(g);
    }

    /// @notice Grants with the owner's signature, and gives the router its allowance.
    /// @dev A failed permit is ignored: another account may have submitted it to the
    /// token before, and only the allowance counts when the grant is charged.
    function grantWithPermit(Grant calldata g, bytes calldata signature, Permit calldata p)
        external
        whenNotPaused
        returns (bytes32 grantId)
    {
        _checkGrant(g, signature);
        grantId = _grant(g);
        try IERC20Permit(g.token).permit(g.owner, address(this), p.value, p.deadline, p.v, p.r, p.s) {} catch {}
    }

    function _checkGrant(Grant calldata g, bytes calldata signature) private view {
        if (!SignatureChecker.isValidSignatureNow(g.owner, hashGrant(g), signature)) revert BadSignature();
    }

    function _grant(Grant calldata g) private returns (bytes32 grantId) {
        grantId = grantIdOf(g.owner, g.salt);
        if (_mandates[grantId].state != State.None) revert GrantExists(grantId);
        if (
            g.owner == address(0) || g.token == address(0) || g.sessionKey == address(0) || g.maxPerCharge == 0
                || g.maxPerCharge > g.maxPerMonth || g.expiresAt <= block.timestamp || g.payees.length > MAX_PAYEES
                || g.anyPayee != (g.payees.length == 0)
        ) revert BadGrant();
        _mandates[grantId] = Mandate({
            owner: g.owner,
            maxPerCharge: g.maxPerCharge,
            token: g.token,
            maxPerMonth: g.maxPerMonth,
            sessionKey: g.sessionKey,
            spent: 0,
            expiresAt: g.expiresAt,
            month: Months.at(block.timestamp),
            state: State.Active,
            anyPayee: g.anyPayee
        });
        for (uint256 i = 0; i < g.payees.length; ++i) {
            _payees[grantId][g.payees[i]] = true;
        }
        emit MandateGranted(
            grantId,
            g.owner,
            g.sessionKey,
            g.token,
            g.maxPerCharge,
            g.maxPerMonth,
            g.expiresAt,
            g.anyPayee,
            g.payees
        );
    }

    // --------------------------------------------------------------- charges

    /// @notice Moves amount from the grant's owner to payee, once for each ref.
    /// @dev The signature is the session key's over (grantId, payee, amount, ref,
    /// deadline). Only operators may submit it: after theirs has failed, no other
    /// account can make it succeed, so the failure is final. After the deadline it
    /// reverts, so a charge that has not landed by then never will.
    /// @param ref names the charge; a repeat with the same payee and amount succeeds
    /// and moves nothing, and one with another payee or amount reverts
    /// @return moved whether this call moved the tokens
    function charge(
        bytes32 grantId,
        address payee,
        uint256 amount,
        bytes32 ref,
        uint256 deadline,
        bytes calldata signature
    ) external whenNotPaused returns (bool moved) {
        if (!isOperator[msg.sender]) revert NotOperator(msg.sender);
        bytes32 done = _charges[grantId][ref];
        bytes32 wanted = _chargeKey(payee, amount);
        if (done == wanted) return false;
        if (done != bytes32(0)) revert RefReused(ref);

        Mandate storage m = _mandates[grantId];
        _checkCharge(m, grantId, payee, amount);
        if (block.timestamp > deadline) revert DeadlinePassed(deadline);
        _checkSignature(m.sessionKey, hashCharge(grantId, payee, amount, ref, deadline), signature);

        (uint32 month, uint256 spent) = _spend(m, amount);
        _charges[grantId][ref] = wanted;
        emit Charged(grantId, ref, payee, amount, month, spent);
        IERC20(m.token).safeTransferFrom(m.owner, payee, amount);
        return true;
    }

    /// @dev Counts amount against the cap of the month of this block.
    function _spend(Mandate storage m, uint256 amount) private returns (uint32 month, uint256 spent) {
        month = Months.at(block.timestamp);
        spent = month == m.month ? m.spent : 0;
        uint256 left = m.maxPerMonth - spent;
        if (amount > left) revert OverMonthCap(amount, left);
        spent += amount;
        m.month = month;
        m.spent = uint96(spent); // at most maxPerMonth, which is one too
    }

    function _checkSignature(address key, bytes32 digest, bytes calldata signature) private pure {
        (address signer, ECDSA.RecoverError err,) = ECDSA.tryRecover(digest, signature);
        if (err != ECDSA.RecoverError.NoError || signer != key) revert BadSignature();
    }

    function _checkCharge(Mandate storage m, bytes32 grantId, address payee, uint256 amount) private view {
        if (m.state == State.None) revert NoGrant(grantId);
        if (m.state == State.Revoked) revert Revoked(grantId);
        if (block.timestamp >= m.expiresAt) revert Expired(grantId);
        if (amount == 0) revert BadAmount();
        if (amount > m.maxPerCharge) revert OverChargeCap(amount, m.maxPerCharge);
        bool allowed = m.anyPayee || _payees[grantId][payee];
        if (!allowed || payee == address(0) || payee == address(this) || payee == m.owner) {
            revert PayeeNotAllowed(payee);
        }
    }

    function _chargeKey(address payee, uint256 amount) private pure returns (bytes32) {
        return keccak256(abi.encode(payee, amount));
    }

    // ------------------------------------------------------------ revocation

    /// @notice Ends a grant. The caller must be its owner or an operator. It works
    /// while the router is paused.
    function revoke(bytes32 grantId) external {
        address owner_ = _mandates[grantId].owner;
        if (owner_ == address(0)) revert NoGrant(grantId);
        if (msg.sender != owner_ && !isOperator[msg.sender]) revert NotRevoker(msg.sender);
        _revoke(grantId);
    }

    /// @notice Ends a grant with its owner's signature. Any account may submit it.
    function revokeWithSignature(bytes32 grantId, bytes calldata signature) external {
        address owner_ = _mandates[grantId].owner;
        if (owner_ == address(0)) revert NoGrant(grantId);
        if (!SignatureChecker.isValidSignatureNow(owner_, hashRevoke(grantId), signature)) revert BadSignature();
        _revoke(grantId);
    }

    /// @notice Invalidates a grant that the caller has signed and that is not on the
    /// chain yet.
    /// @param salt the salt of the grant
    function refuse(bytes32 salt) external {
        bytes32 grantId = grantIdOf(msg.sender, salt);
        _mandates[grantId].owner = msg.sender;
        _revoke(grantId);
    }

    function _revoke(bytes32 grantId) private {
        Mandate storage m = _mandates[grantId];
        if (m.state == State.Revoked) return;
        m.state = State.Revoked;
        emit MandateRevoked(grantId, m.owner, msg.sender);
    }

    // ---------------------------------------------------------------- admin

    /// @notice Pauses grants and charges. Revoking still works.
    function pause() external onlyOwner {
        _pause();
    }

    /// @notice Ends the pause.
    function unpause() external onlyOwner {
        _unpause();
    }

    /// @notice Adds or removes an operator.
    function setOperator(address operator, bool enabled) external onlyOwner {
        isOperator[operator] = enabled;
        emit OperatorSet(operator, enabled);
    }

    /// @notice Always reverts: a router without an administrator could not be paused.
    function renounceOwnership() public view override onlyOwner {
        revert CannotRenounce();
    }

    // ---------------------------------------------------------------- views

    /// @notice Returns what the router stores of a grant, all zero if there is none.
    function mandate(bytes32 grantId) external view returns (Mandate memory) {
        return _mandates[grantId];
    }

    /// @notice Returns what a grant can still move in the month of this block.
    function remaining(bytes32 grantId) external view returns (uint256) {
        Mandate storage m = _mandates[grantId];
        if (m.state != State.Active || block.timestamp >= m.expiresAt) return 0;
        return Months.at(block.timestamp) == m.month ? m.maxPerMonth - m.spent : m.maxPerMonth;
    }

    /// @notice Returns whether a grant allows payee.
    function isPayee(bytes32 grantId, address payee) external view returns (bool) {
        return _mandates[grantId].anyPayee || _payees[grantId][payee];
    }

    /// @notice Returns whether ref was charged at all, and whether to this payee and
    /// amount.
    function charged(bytes32 grantId, bytes32 ref, address payee, uint256 amount)
        external
        view
        returns (bool any, bool same)
    {
        bytes32 done = _charges[grantId][ref];
        return (done != bytes32(0), done == _chargeKey(payee, amount));
    }

    /// @notice Returns the id of the grant with this owner and salt, for this router and
    /// chain.
    function grantIdOf(address owner_, bytes32 salt) public view returns (bytes32) {
        return keccak256(abi.encode(block.chainid, address(this), owner_, salt));
    }

    /// @notice Returns the calendar month of a time: year * 12 + month, January being 0.
    function monthOf(uint256 timestamp) external pure returns (uint32) {
        return Months.at(timestamp);
    }

    /// @notice Returns the hash that the owner signs to grant.
    function hashGrant(Grant calldata g) public view returns (bytes32) {
        return _hashTypedDataV4(
            keccak256(
                abi.encode(
                    GRANT_TYPEHASH,
                    g.owner,
                    g.token,
                    g.sessionKey,
                    g.maxPerCharge,
                    g.maxPerMonth,
                    g.expiresAt,
                    g.anyPayee,
                    keccak256(abi.encodePacked(g.payees)),
                    g.salt
                )
            )
        );
    }

    /// @notice Returns the hash that the session key signs to charge.
    function hashCharge(bytes32 grantId, address payee, uint256 amount, bytes32 ref, uint256 deadline)
        public
        view
        returns (bytes32)
    {
        return _hashTypedDataV4(keccak256(abi.encode(CHARGE_TYPEHASH, grantId, payee, amount, ref, deadline)));
    }

    /// @notice Returns the hash that the owner signs to revoke.
    function hashRevoke(bytes32 grantId) public view returns (bytes32) {
        return _hashTypedDataV4(keccak256(abi.encode(REVOKE_TYPEHASH, grantId)));
    }
}
