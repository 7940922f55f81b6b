// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {MandateRouter} from "../src/MandateRouter.sol";
import {TestUSDC} from "../src/TestUSDC.sol";
import {IssuedUSDC, IssuedUSDCProxy} from "../src/testing/IssuedUSDC.sol";

/// @notice The cheat codes that the tests use.
interface Vm {
    struct Log {
        bytes32[] topics;
        bytes data;
        address emitter;
    }

    function recordLogs() external;
    function getRecordedLogs() external returns (Log[] memory);
    function etch(address target, bytes calldata code) external;
    function store(address target, bytes32 slot, bytes32 value) external;
    function addr(uint256 key) external pure returns (address);
    function sign(uint256 key, bytes32 digest) external pure returns (uint8 v, bytes32 r, bytes32 s);
    function warp(uint256 timestamp) external;
    function chainId(uint256 id) external;
    function prank(address caller) external;
    function expectRevert() external;
    function expectRevert(bytes4 selector) external;
    function expectRevert(bytes calldata data) external;
    function assume(bool condition) external pure;
}

/// @notice A router with an owner who gave it an allowance.
abstract contract Base {
    Vm internal constant VM = Vm(0x7109709ECfa91a80626fF3989D68f67F5b1DD12D);

    uint256 internal constant OWNER_KEY = 0xA11CE;
    uint256 internal constant SESSION_KEY = 0x5E55;
    uint256 internal constant OTHER_KEY = 0xBAD;
    address internal constant ADMIN = address(0xAD);
    address internal constant OPERATOR = address(0x09);
    address internal constant PAYEE = address(0xBEEF);
    uint96 internal constant PER_CHARGE = 10e6;
    uint96 internal constant PER_MONTH = 25e6;

    /// @dev Where ERC-1967 keeps a proxy's implementation.
    bytes32 private constant IMPLEMENTATION = 0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc;

    /// @dev Set by the constructors of tests that run on the token as it is deployed:
    /// behind a proxy, with an issuer, refusing with texts.
    bool internal issuedForm;
    MandateRouter internal router;
    TestUSDC internal token;
    address internal owner;

    function deploy() internal {
        VM.warp(1_800_000_000);
        router = new MandateRouter(ADMIN);
        token = newToken();
        owner = VM.addr(OWNER_KEY);
        token.mint(owner, 1e12);
        VM.prank(owner);
        token.approve(address(router), type(uint256).max);
        VM.prank(ADMIN);
        router.setOperator(OPERATOR, true);
    }

    /// @dev The token that the tests run on. The issued form is a plain one that was
    /// upgraded: name and version stay in its storage.
    function newToken() private returns (TestUSDC plain) {
        plain = new TestUSDC("USDC", "2");
        if (!issuedForm) return plain;
        IssuedUSDC implementation = new IssuedUSDC();
        VM.etch(address(plain), address(new IssuedUSDCProxy(address(implementation))).code);
        VM.store(address(plain), IMPLEMENTATION, bytes32(uint256(uint160(address(implementation)))));
    }

    /// @dev The token's next call must be refused because of its signature.
    function expectInvalidSignature() internal {
        if (issuedForm) expectText("FiatTokenV2: invalid signature");
        else VM.expectRevert(TestUSDC.InvalidSignature.selector);
    }

    function expectText(string memory text) internal {
        VM.expectRevert(abi.encodeWithSignature("Error(string)", text));
    }

    function terms(bytes32 salt) internal view returns (MandateRouter.Grant memory g) {
        g.owner = owner;
        g.token = address(token);
        g.sessionKey = VM.addr(SESSION_KEY);
        g.maxPerCharge = PER_CHARGE;
        g.maxPerMonth = PER_MONTH;
        g.expiresAt = uint64(block.timestamp + 365 days);
        g.payees = new address[](1);
        g.payees[0] = PAYEE;
        g.salt = salt;
    }

    function granted(bytes32 salt) internal returns (bytes32) {
        MandateRouter.Grant memory g = terms(salt);
        VM.prank(owner);
        return router.grant(g);
    }

    function signed(uint256 key, bytes32 digest) internal pure returns (bytes memory) {
        (uint8 v, bytes32 r, bytes32 s) = VM.sign(key, digest);
        return abi.encodePacked(r, s, v);
    }

    function charge(bytes32 id, address payee, uint256 amount, bytes32 ref) internal returns (bool) {
        uint256 deadline = block.timestamp + 600;
        bytes memory s = signed(SESSION_KEY, router.hashCharge(id, payee, amount, ref, deadline));
        VM.prank(OPERATOR);
        return router.charge(id, payee, amount, ref, deadline, s);
    }

    function bound(uint256 x, uint256 low, uint256 high) internal pure returns (uint256) {
        return low + x % (high - low + 1);
    }
}
