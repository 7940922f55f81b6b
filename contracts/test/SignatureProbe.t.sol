// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {SignatureProbe} from "../src/SignatureProbe.sol";
import {SmartWallet, SmartWalletFactory} from "../src/testing/SmartWallet.sol";
import {Base} from "./Base.sol";

/// @notice A wallet whose answer is whatever it was made with.
contract OddWallet {
    bytes private _answer;
    bool private _reverts;

    constructor(bytes memory answer_, bool reverts_) {
        (_answer, _reverts) = (answer_, reverts_);
    }

    fallback() external {
        bytes memory answer = _answer;
        bool reverts = _reverts;
        assembly ("memory-safe") {
            if reverts { revert(add(answer, 32), mload(answer)) }
            return(add(answer, 32), mload(answer))
        }
    }
}

contract SignatureProbeTest is Base {
    bytes4 private constant MAGIC = 0x1626ba7e;

    /// @dev What the probe answers lies in the code of what was made.
    function probe(address wallet, bytes32 hash, address factory, bytes memory call_, bytes memory signature)
        private
        returns (bool)
    {
        bytes memory said = address(new SignatureProbe(wallet, hash, factory, call_, signature)).code;
        require(said.length == 1, "one byte");
        require(uint8(said[0]) < 2, "no answer");
        return said[0] == 0x01;
    }

    function testFuzz_DeployedWallet(bytes32 hash, uint256 by) external {
        by = 1 + by % 1e30;
        SmartWallet wallet = new SmartWallet(VM.addr(OTHER_KEY));
        require(probe(address(wallet), hash, address(0), "", signed(OTHER_KEY, hash)), "its key");
        require(!probe(address(wallet), hash, address(0), "", signed(by, hash)) || by == OTHER_KEY, "another key");
    }

    function testFuzz_WalletToBeDeployed(bytes32 hash) external {
        SmartWalletFactory factory = new SmartWalletFactory();
        address key = VM.addr(OTHER_KEY);
        address wallet = factory.addressOf(key);
        bytes memory make = abi.encodeCall(SmartWalletFactory.create, (key));
        require(probe(wallet, hash, address(factory), make, signed(OTHER_KEY, hash)), "its key");
        require(wallet.code.length > 0, "not made");
    }

    function testFuzz_FactoryThatMakesNothing(bytes32 hash, address wallet, bytes4 call_) external {
        VM.assume(wallet.code.length == 0);
        SmartWalletFactory factory = new SmartWalletFactory();
        bytes memory signature = signed(OTHER_KEY, hash);
        require(!probe(wallet, hash, address(factory), abi.encodePacked(call_), signature), "call failed");
        bytes memory other = abi.encodeCall(SmartWalletFactory.create, (VM.addr(OTHER_KEY)));
        VM.assume(wallet != factory.addressOf(VM.addr(OTHER_KEY)));
        require(!probe(wallet, hash, address(factory), other, signature), "made another");
        require(!probe(wallet, hash, wallet, "", signature), "no factory");
    }

    function testFuzz_OddAnswers(bytes32 hash, bytes memory answer) external {
        bool right = answer.length == 32 && bytes32(answer) == bytes32(MAGIC);
        require(probe(address(new OddWallet(answer, false)), hash, address(0), "", "") == right, "answer");
    }

    function test_AnswersThatAreNearlyRight() external {
        bytes32 word = bytes32(MAGIC);
        require(probe(address(new OddWallet(abi.encode(word), false)), 0, address(0), "", ""), "right");
        bytes[5] memory wrong = [
            abi.encode(bytes32(uint256(word) | 1)),
            abi.encodePacked(MAGIC),
            abi.encodePacked(word, word),
            abi.encode(bytes32(uint256(uint32(MAGIC)))),
            bytes("")
        ];
        for (uint256 i = 0; i < wrong.length; i++) {
            require(!probe(address(new OddWallet(wrong[i], false)), 0, address(0), "", ""), "wrong");
        }
        require(!probe(address(new OddWallet(abi.encode(word), true)), 0, address(0), "", ""), "reverts");
    }
}
