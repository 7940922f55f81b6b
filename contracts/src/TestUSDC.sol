// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {MessageHashUtils} from "@openzeppelin/contracts/utils/cryptography/MessageHashUtils.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";
import {Nonces} from "@openzeppelin/contracts/utils/Nonces.sol";

/// @title A dollar token for development chains
/// @notice ERC-20 with permits (EIP-2612) and transfer authorizations (EIP-3009),
/// six decimals. Any account can mint it: it is worth nothing.
/// @dev It has no immutables: name, symbol and version are in storage, so a genesis
/// can have the runtime code with any of them. The domain separator is computed for
/// the present chain and address when it is needed.
contract TestUSDC is ERC20, Nonces {
    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);
    event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce);

    error InvalidSignature();
    error PermitExpired(uint256 deadline);
    error AuthorizationUsedOrCanceled(address authorizer, bytes32 nonce);
    error AuthorizationNotYetValid(uint256 validAfter);
    error AuthorizationExpired(uint256 validBefore);
    error CallerIsNotPayee(address caller);

    bytes32 private constant DOMAIN_TYPEHASH =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    bytes32 public constant PERMIT_TYPEHASH =
        keccak256("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)");
    bytes32 public constant TRANSFER_WITH_AUTHORIZATION_TYPEHASH = keccak256(
        "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );
    bytes32 public constant RECEIVE_WITH_AUTHORIZATION_TYPEHASH = keccak256(
        "ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );
    bytes32 public constant CANCEL_AUTHORIZATION_TYPEHASH =
        keccak256("CancelAuthorization(address authorizer,bytes32 nonce)");

    /// @notice The version in the signing domain.
    string public version;

    /// @notice Returns whether an authorization was used or canceled.
    mapping(address authorizer => mapping(bytes32 nonce => bool)) public authorizationState;

    /// @param name_ the name of the token and of its signing domain
    /// @param version_ the version of its signing domain
    constructor(string memory name_, string memory version_) ERC20(name_, "USDC") {
        version = version_;
    }

    /// @inheritdoc ERC20
    function decimals() public pure override returns (uint8) {
        return 6;
    }

    /// @notice Creates tokens. Any account may call it.
    function mint(address to, uint256 value) external {
        _mint(to, value);
    }

    /// @notice Returns the signing domain's separator.
    // solhint-disable-next-line func-name-mixedcase
    function DOMAIN_SEPARATOR() public view returns (bytes32) {
        return keccak256(
            abi.encode(
                DOMAIN_TYPEHASH, keccak256(bytes(name())), keccak256(bytes(version)), block.chainid, address(this)
            )
        );
    }

    // ------------------------------------------------------------- EIP-2612

    /// @notice Sets an allowance with its owner's signature.
    function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)
        external
    {
        permit(owner, spender, value, deadline, abi.encodePacked(r, s, v));
    }

    /// @notice Does the same as the other form. The signature may be a contract's
    /// (ERC-1271).
    function permit(address owner, address spender, uint256 value, uint256 deadline, bytes memory signature)
        public
        virtual
    {
        if (block.timestamp > deadline) revert PermitExpired(deadline);
        _check(owner, keccak256(abi.encode(PERMIT_TYPEHASH, owner, spender, value, _useNonce(owner), deadline)), signature);
        _approve(owner, spender, value);
    }

    // ------------------------------------------------------------- EIP-3009

    /// @notice Moves tokens with their owner's signature. Any account may submit it.
    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        transferWithAuthorization(from, to, value, validAfter, validBefore, nonce, abi.encodePacked(r, s, v));
    }

    /// @notice Does the same as the other form. The signature may be a contract's
    /// (ERC-1271).
    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) public {
        _useAuthorization(
            TRANSFER_WITH_AUTHORIZATION_TYPEHASH, from, to, value, validAfter, validBefore, nonce, signature
        );
    }

    /// @notice Moves tokens with their owner's signature. Only the payee may submit it.
    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        receiveWithAuthorization(from, to, value, validAfter, validBefore, nonce, abi.encodePacked(r, s, v));
    }

    /// @notice Does the same as the other form. The signature may be a contract's
    /// (ERC-1271).
    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) public virtual {
        if (msg.sender != to) revert CallerIsNotPayee(msg.sender);
        _useAuthorization(
            RECEIVE_WITH_AUTHORIZATION_TYPEHASH, from, to, value, validAfter, validBefore, nonce, signature
        );
    }

    /// @notice Cancels an authorization with its owner's signature.
    function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) external {
        cancelAuthorization(authorizer, nonce, abi.encodePacked(r, s, v));
    }

    /// @notice Does the same as the other form. The signature may be a contract's
    /// (ERC-1271).
    function cancelAuthorization(address authorizer, bytes32 nonce, bytes memory signature) public virtual {
        if (authorizationState[authorizer][nonce]) revert AuthorizationUsedOrCanceled(authorizer, nonce);
        _check(authorizer, keccak256(abi.encode(CANCEL_AUTHORIZATION_TYPEHASH, authorizer, nonce)), signature);
        authorizationState[authorizer][nonce] = true;
        emit AuthorizationCanceled(authorizer, nonce);
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
    ) internal virtual {
        if (block.timestamp <= validAfter) revert AuthorizationNotYetValid(validAfter);
        if (block.timestamp >= validBefore) revert AuthorizationExpired(validBefore);
        if (authorizationState[from][nonce]) revert AuthorizationUsedOrCanceled(from, nonce);
        _check(from, keccak256(abi.encode(typeHash, from, to, value, validAfter, validBefore, nonce)), signature);
        authorizationState[from][nonce] = true;
        emit AuthorizationUsed(from, nonce);
        _transfer(from, to, value);
    }

    /// @dev Accepts the signature of a key, or of a contract if the account has code.
    function _check(address signer, bytes32 structHash, bytes memory signature) internal view virtual {
        bytes32 digest = MessageHashUtils.toTypedDataHash(DOMAIN_SEPARATOR(), structHash);
        if (!SignatureChecker.isValidSignatureNow(signer, digest, signature)) revert InvalidSignature();
    }
}
