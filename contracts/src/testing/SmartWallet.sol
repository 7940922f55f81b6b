// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";

/// @title A wallet that is a contract, with one key
/// @notice It is for tests of contract signatures (ERC-1271).
contract SmartWallet {
    address public immutable key;

    constructor(address key_) {
        key = key_;
    }

    /// @notice Returns ERC-1271's magic value for signatures of the key.
    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        (address signer, ECDSA.RecoverError err,) = ECDSA.tryRecover(hash, signature);
        return err == ECDSA.RecoverError.NoError && signer == key ? bytes4(0x1626ba7e) : bytes4(0xffffffff);
    }

    /// @notice Makes a call as the wallet. Only its key may call it.
    function execute(address target, bytes calldata call_) external returns (bytes memory) {
        require(msg.sender == key, "not the key");
        (bool ok, bytes memory answer) = target.call(call_);
        require(ok, "call failed");
        return answer;
    }
}

/// @title Deploys smart wallets at addresses known before
/// @notice It is for tests of signatures by wallets that are not deployed yet (ERC-6492).
contract SmartWalletFactory {
    /// @notice Deploys the wallet of a key.
    function create(address key) external returns (address) {
        return address(new SmartWallet{salt: bytes32(0)}(key));
    }

    /// @notice Returns the address of a key's wallet, deployed or not.
    function addressOf(address key) external view returns (address) {
        bytes32 init = keccak256(abi.encodePacked(type(SmartWallet).creationCode, abi.encode(key)));
        return address(uint160(uint256(keccak256(abi.encodePacked(hex"ff", address(this), bytes32(0), init)))));
    }
}
