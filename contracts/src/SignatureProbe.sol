// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";

/// @title Asks a wallet that may not be deployed yet whether it signed (ERC-6492)
/// @notice It is never deployed: an eth_call without a recipient runs its creation
/// code, and changes nothing. It returns one byte, 1 if the wallet accepts the
/// signature.
contract SignatureProbe {
    /// @param wallet the wallet that should have signed
    /// @param factory the factory that deploys it, and the call that does
    constructor(address wallet, bytes32 hash, address factory, bytes memory factoryCall, bytes memory signature) {
        bool deployed = wallet.code.length > 0;
        if (!deployed) {
            (deployed,) = factory.call(factoryCall);
            deployed = deployed && wallet.code.length > 0;
        }
        bool valid = false;
        if (deployed) {
            (bool ok, bytes memory answer) =
                wallet.staticcall(abi.encodeCall(IERC1271.isValidSignature, (hash, signature)));
            valid = ok && answer.length == 32 && bytes32(answer) == bytes32(IERC1271.isValidSignature.selector);
        }
        assembly ("memory-safe") {
            mstore8(0, valid)
            return(0, 1)
        }
    }
}
