// Code generated via abigen V2 - DO NOT EDIT.
// This file is a generated binding and any manual changes will be lost.

package contracts

import (
	"bytes"
	"errors"
	"math/big"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/accounts/abi/bind/v2"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// Reference imports to suppress errors if they are not otherwise used.
var (
	_ = bytes.Equal
	_ = errors.New
	_ = big.NewInt
	_ = common.Big1
	_ = types.BloomLookup
	_ = abi.ConvertType
)

// MandateRouterGrant is an auto generated low-level Go binding around an user-defined struct.
type MandateRouterGrant struct {
	Owner        common.Address
	Token        common.Address
	SessionKey   common.Address
	MaxPerCharge *big.Int
	MaxPerMonth  *big.Int
	ExpiresAt    uint64
	AnyPayee     bool
	Payees       []common.Address
	Salt         [32]byte
}

// MandateRouterMandate is an auto generated low-level Go binding around an user-defined struct.
type MandateRouterMandate struct {
	Owner        common.Address
	MaxPerCharge *big.Int
	Token        common.Address
	MaxPerMonth  *big.Int
	SessionKey   common.Address
	Spent        *big.Int
	ExpiresAt    uint64
	Month        uint32
	State        uint8
	AnyPayee     bool
}

// MandateRouterPermit is an auto generated low-level Go binding around an user-defined struct.
type MandateRouterPermit struct {
	Value    *big.Int
	Deadline *big.Int
	V        uint8
	R        [32]byte
	S        [32]byte
}

// TestPermit2PermitTransferFrom is an auto generated low-level Go binding around an user-defined struct.
type TestPermit2PermitTransferFrom struct {
	Permitted TestPermit2TokenPermissions
	Nonce     *big.Int
	Deadline  *big.Int
}

// TestPermit2SignatureTransferDetails is an auto generated low-level Go binding around an user-defined struct.
type TestPermit2SignatureTransferDetails struct {
	To              common.Address
	RequestedAmount *big.Int
}

// TestPermit2TokenPermissions is an auto generated low-level Go binding around an user-defined struct.
type TestPermit2TokenPermissions struct {
	Token  common.Address
	Amount *big.Int
}

// TestUptoProxyWitness is an auto generated low-level Go binding around an user-defined struct.
type TestUptoProxyWitness struct {
	To          common.Address
	Facilitator common.Address
	ValidAfter  *big.Int
}

// MandateRouterMetaData contains all meta data concerning the MandateRouter contract.
var MandateRouterMetaData = bind.MetaData{
	ABI: "[{\"inputs\":[{\"internalType\":\"address\",\"name\":\"admin\",\"type\":\"address\"}],\"stateMutability\":\"nonpayable\",\"type\":\"constructor\"},{\"inputs\":[],\"name\":\"BadAmount\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"BadGrant\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"BadSignature\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"CannotRenounce\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint256\",\"name\":\"deadline\",\"type\":\"uint256\"}],\"name\":\"DeadlinePassed\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"EnforcedPause\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"ExpectedPause\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"grantId\",\"type\":\"bytes32\"}],\"name\":\"Expired\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"grantId\",\"type\":\"bytes32\"}],\"name\":\"GrantExists\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"InvalidShortString\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"grantId\",\"type\":\"bytes32\"}],\"name\":\"NoGrant\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"caller\",\"type\":\"address\"}],\"name\":\"NotOperator\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"caller\",\"type\":\"address\"}],\"name\":\"NotRevoker\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint256\",\"name\":\"amount\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"cap\",\"type\":\"uint256\"}],\"name\":\"OverChargeCap\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint256\",\"name\":\"amount\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"left\",\"type\":\"uint256\"}],\"name\":\"OverMonthCap\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"owner\",\"type\":\"address\"}],\"name\":\"OwnableInvalidOwner\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"account\",\"type\":\"address\"}],\"name\":\"OwnableUnauthorizedAccount\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"payee\",\"type\":\"address\"}],\"name\":\"PayeeNotAllowed\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"ref\",\"type\":\"bytes32\"}],\"name\":\"RefReused\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"grantId\",\"type\":\"bytes32\"}],\"name\":\"Revoked\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"token\",\"type\":\"address\"}],\"name\":\"SafeERC20FailedOperation\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"string\",\"name\":\"str\",\"type\":\"string\"}],\"name\":\"StringTooLong\",\"type\":\"error\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"bytes32\",\"name\":\"grantId\",\"type\":\"bytes32\"},{\"indexed\":true,\"internalType\":\"bytes32\",\"name\":\"ref\",\"type\":\"bytes32\"},{\"indexed\":true,\"internalType\":\"address\",\"name\":\"payee\",\"type\":\"address\"},{\"indexed\":false,\"internalType\":\"uint256\",\"name\":\"amount\",\"type\":\"uint256\"},{\"indexed\":false,\"internalType\":\"uint32\",\"name\":\"month\",\"type\":\"uint32\"},{\"indexed\":false,\"internalType\":\"uint256\",\"name\":\"spent\",\"type\":\"uint256\"}],\"name\":\"Charged\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[],\"name\":\"EIP712DomainChanged\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"bytes32\",\"name\":\"grantId\",\"type\":\"bytes32\"},{\"indexed\":true,\"internalType\":\"address\",\"name\":\"owner\",\"type\":\"address\"},{\"indexed\":true,\"internalType\":\"address\",\"name\":\"sessionKey\",\"type\":\"address\"},{\"indexed\":false,\"internalType\":\"address\",\"name\":\"token\",\"type\":\"address\"},{\"indexed\":false,\"internalType\":\"uint96\",\"name\":\"maxPerCharge\",\"type\":\"uint96\"},{\"indexed\":false,\"internalType\":\"uint96\",\"name\":\"maxPerMonth\",\"type\":\"uint96\"},{\"indexed\":false,\"internalType\":\"uint64\",\"name\":\"expiresAt\",\"type\":\"uint64\"},{\"indexed\":false,\"internalType\":\"bool\",\"name\":\"anyPayee\",\"type\":\"bool\"},{\"indexed\":false,\"internalType\":\"address[]\",\"name\":\"payees\",\"type\":\"address[]\"}],\"name\":\"MandateGranted\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"bytes32\",\"name\":\"grantId\",\"type\":\"bytes32\"},{\"indexed\":true,\"internalType\":\"address\",\"name\":\"owner\",\"type\":\"address\"},{\"indexed\":true,\"internalType\":\"address\",\"name\":\"by\",\"type\":\"address\"}],\"name\":\"MandateRevoked\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"address\",\"name\":\"operator\",\"type\":\"address\"},{\"indexed\":false,\"internalType\":\"bool\",\"name\":\"enabled\",\"type\":\"bool\"}],\"name\":\"OperatorSet\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"address\",\"name\":\"previousOwner\",\"type\":\"address\"},{\"indexed\":true,\"internalType\":\"address\",\"name\":\"newOwner\",\"type\":\"address\"}],\"name\":\"OwnershipTransferStarted\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"address\",\"name\":\"previousOwner\",\"type\":\"address\"},{\"indexed\":true,\"internalType\":\"address\",\"name\":\"newOwner\",\"type\":\"address\"}],\"name\":\"OwnershipTransferred\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":false,\"internalType\":\"address\",\"name\":\"account\",\"type\":\"address\"}],\"name\":\"Paused\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":false,\"internalType\":\"address\",\"name\":\"account\",\"type\":\"address\"}],\"name\":\"Unpaused\",\"type\":\"event\"},{\"inputs\":[],\"name\":\"MAX_PAYEES\",\"outputs\":[{\"internalType\":\"uint256\",\"name\":\"\",\"type\":\"uint256\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"acceptOwnership\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"grantId\",\"type\":\"bytes32\"},{\"internalType\":\"address\",\"name\":\"payee\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"amount\",\"type\":\"uint256\"},{\"internalType\":\"bytes32\",\"name\":\"ref\",\"type\":\"bytes32\"},{\"internalType\":\"uint256\",\"name\":\"deadline\",\"type\":\"uint256\"},{\"internalType\":\"bytes\",\"name\":\"signature\",\"type\":\"bytes\"}],\"name\":\"charge\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"moved\",\"type\":\"bool\"}],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"grantId\",\"type\":\"bytes32\"},{\"internalType\":\"bytes32\",\"name\":\"ref\",\"type\":\"bytes32\"},{\"internalType\":\"address\",\"name\":\"payee\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"amount\",\"type\":\"uint256\"}],\"name\":\"charged\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"any\",\"type\":\"bool\"},{\"internalType\":\"bool\",\"name\":\"same\",\"type\":\"bool\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"eip712Domain\",\"outputs\":[{\"internalType\":\"bytes1\",\"name\":\"fields\",\"type\":\"bytes1\"},{\"internalType\":\"string\",\"name\":\"name\",\"type\":\"string\"},{\"internalType\":\"string\",\"name\":\"version\",\"type\":\"string\"},{\"internalType\":\"uint256\",\"name\":\"chainId\",\"type\":\"uint256\"},{\"internalType\":\"address\",\"name\":\"verifyingContract\",\"type\":\"address\"},{\"internalType\":\"bytes32\",\"name\":\"salt\",\"type\":\"bytes32\"},{\"internalType\":\"uint256[]\",\"name\":\"extensions\",\"type\":\"uint256[]\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"components\":[{\"internalType\":\"address\",\"name\":\"owner\",\"type\":\"address\"},{\"internalType\":\"address\",\"name\":\"token\",\"type\":\"address\"},{\"internalType\":\"address\",\"name\":\"sessionKey\",\"type\":\"address\"},{\"internalType\":\"uint96\",\"name\":\"maxPerCharge\",\"type\":\"uint96\"},{\"internalType\":\"uint96\",\"name\":\"maxPerMonth\",\"type\":\"uint96\"},{\"internalType\":\"uint64\",\"name\":\"expiresAt\",\"type\":\"uint64\"},{\"internalType\":\"bool\",\"name\":\"anyPayee\",\"type\":\"bool\"},{\"internalType\":\"address[]\",\"name\":\"payees\",\"type\":\"address[]\"},{\"internalType\":\"bytes32\",\"name\":\"salt\",\"type\":\"bytes32\"}],\"internalType\":\"structMandateRouter.Grant\",\"name\":\"g\",\"type\":\"tuple\"}],\"name\":\"grant\",\"outputs\":[{\"internalType\":\"bytes32\",\"name\":\"grantId\",\"type\":\"bytes32\"}],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"owner_\",\"type\":\"address\"},{\"internalType\":\"bytes32\",\"name\":\"salt\",\"type\":\"bytes32\"}],\"name\":\"grantIdOf\",\"outputs\":[{\"internalType\":\"bytes32\",\"name\":\"\",\"type\":\"bytes32\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"components\":[{\"internalType\":\"address\",\"name\":\"owner\",\"type\":\"address\"},{\"internalType\":\"address\",\"name\":\"token\",\"type\":\"address\"},{\"internalType\":\"address\",\"name\":\"sessionKey\",\"type\":\"address\"},{\"internalType\":\"uint96\",\"name\":\"maxPerCharge\",\"type\":\"uint96\"},{\"internalType\":\"uint96\",\"name\":\"maxPerMonth\",\"type\":\"uint96\"},{\"internalType\":\"uint64\",\"name\":\"expiresAt\",\"type\":\"uint64\"},{\"internalType\":\"bool\",\"name\":\"anyPayee\",\"type\":\"bool\"},{\"internalType\":\"address[]\",\"name\":\"payees\",\"type\":\"address[]\"},{\"internalType\":\"bytes32\",\"name\":\"salt\",\"type\":\"bytes32\"}],\"internalType\":\"structMandateRouter.Grant\",\"name\":\"g\",\"type\":\"tuple\"},{\"internalType\":\"bytes\",\"name\":\"signature\",\"type\":\"bytes\"},{\"components\":[{\"internalType\":\"uint256\",\"name\":\"value\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"deadline\",\"type\":\"uint256\"},{\"internalType\":\"uint8\",\"name\":\"v\",\"type\":\"uint8\"},{\"internalType\":\"bytes32\",\"name\":\"r\",\"type\":\"bytes32\"},{\"internalType\":\"bytes32\",\"name\":\"s\",\"type\":\"bytes32\"}],\"internalType\":\"structMandateRouter.Permit\",\"name\":\"p\",\"type\":\"tuple\"}],\"name\":\"grantWithPermit\",\"outputs\":[{\"internalType\":\"bytes32\",\"name\":\"grantId\",\"type\":\"bytes32\"}],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"components\":[{\"internalType\":\"address\",\"name\":\"owner\",\"type\":\"address\"},{\"internalType\":\"address\",\"name\":\"token\",\"type\":\"address\"},{\"internalType\":\"address\",\"name\":\"sessionKey\",\"type\":\"address\"},{\"internalType\":\"uint96\",\"name\":\"maxPerCharge\",\"type\":\"uint96\"},{\"internalType\":\"uint96\",\"name\":\"maxPerMonth\",\"type\":\"uint96\"},{\"internalType\":\"uint64\",\"name\":\"expiresAt\",\"type\":\"uint64\"},{\"internalType\":\"bool\",\"name\":\"anyPayee\",\"type\":\"bool\"},{\"internalType\":\"address[]\",\"name\":\"payees\",\"type\":\"address[]\"},{\"internalType\":\"bytes32\",\"name\":\"salt\",\"type\":\"bytes32\"}],\"internalType\":\"structMandateRouter.Grant\",\"name\":\"g\",\"type\":\"tuple\"},{\"internalType\":\"bytes\",\"name\":\"signature\",\"type\":\"bytes\"}],\"name\":\"grantWithSignature\",\"outputs\":[{\"internalType\":\"bytes32\",\"name\":\"grantId\",\"type\":\"bytes32\"}],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"grantId\",\"type\":\"bytes32\"},{\"internalType\":\"address\",\"name\":\"payee\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"amount\",\"type\":\"uint256\"},{\"internalType\":\"bytes32\",\"name\":\"ref\",\"type\":\"bytes32\"},{\"internalType\":\"uint256\",\"name\":\"deadline\",\"type\":\"uint256\"}],\"name\":\"hashCharge\",\"outputs\":[{\"internalType\":\"bytes32\",\"name\":\"\",\"type\":\"bytes32\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"components\":[{\"internalType\":\"address\",\"name\":\"owner\",\"type\":\"address\"},{\"internalType\":\"address\",\"name\":\"token\",\"type\":\"address\"},{\"internalType\":\"address\",\"name\":\"sessionKey\",\"type\":\"address\"},{\"internalType\":\"uint96\",\"name\":\"maxPerCharge\",\"type\":\"uint96\"},{\"internalType\":\"uint96\",\"name\":\"maxPerMonth\",\"type\":\"uint96\"},{\"internalType\":\"uint64\",\"name\":\"expiresAt\",\"type\":\"uint64\"},{\"internalType\":\"bool\",\"name\":\"anyPayee\",\"type\":\"bool\"},{\"internalType\":\"address[]\",\"name\":\"payees\",\"type\":\"address[]\"},{\"internalType\":\"bytes32\",\"name\":\"salt\",\"type\":\"bytes32\"}],\"internalType\":\"structMandateRouter.Grant\",\"name\":\"g\",\"type\":\"tuple\"}],\"name\":\"hashGrant\",\"outputs\":[{\"internalType\":\"bytes32\",\"name\":\"\",\"type\":\"bytes32\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"grantId\",\"type\":\"bytes32\"}],\"name\":\"hashRevoke\",\"outputs\":[{\"internalType\":\"bytes32\",\"name\":\"\",\"type\":\"bytes32\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"operator\",\"type\":\"address\"}],\"name\":\"isOperator\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"\",\"type\":\"bool\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"grantId\",\"type\":\"bytes32\"},{\"internalType\":\"address\",\"name\":\"payee\",\"type\":\"address\"}],\"name\":\"isPayee\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"\",\"type\":\"bool\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"grantId\",\"type\":\"bytes32\"}],\"name\":\"mandate\",\"outputs\":[{\"components\":[{\"internalType\":\"address\",\"name\":\"owner\",\"type\":\"address\"},{\"internalType\":\"uint96\",\"name\":\"maxPerCharge\",\"type\":\"uint96\"},{\"internalType\":\"address\",\"name\":\"token\",\"type\":\"address\"},{\"internalType\":\"uint96\",\"name\":\"maxPerMonth\",\"type\":\"uint96\"},{\"internalType\":\"address\",\"name\":\"sessionKey\",\"type\":\"address\"},{\"internalType\":\"uint96\",\"name\":\"spent\",\"type\":\"uint96\"},{\"internalType\":\"uint64\",\"name\":\"expiresAt\",\"type\":\"uint64\"},{\"internalType\":\"uint32\",\"name\":\"month\",\"type\":\"uint32\"},{\"internalType\":\"enumMandateRouter.State\",\"name\":\"state\",\"type\":\"uint8\"},{\"internalType\":\"bool\",\"name\":\"anyPayee\",\"type\":\"bool\"}],\"internalType\":\"structMandateRouter.Mandate\",\"name\":\"\",\"type\":\"tuple\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"uint256\",\"name\":\"timestamp\",\"type\":\"uint256\"}],\"name\":\"monthOf\",\"outputs\":[{\"internalType\":\"uint32\",\"name\":\"\",\"type\":\"uint32\"}],\"stateMutability\":\"pure\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"owner\",\"outputs\":[{\"internalType\":\"address\",\"name\":\"\",\"type\":\"address\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"pause\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"paused\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"\",\"type\":\"bool\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"pendingOwner\",\"outputs\":[{\"internalType\":\"address\",\"name\":\"\",\"type\":\"address\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"salt\",\"type\":\"bytes32\"}],\"name\":\"refuse\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"grantId\",\"type\":\"bytes32\"}],\"name\":\"remaining\",\"outputs\":[{\"internalType\":\"uint256\",\"name\":\"\",\"type\":\"uint256\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"renounceOwnership\",\"outputs\":[],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"grantId\",\"type\":\"bytes32\"}],\"name\":\"revoke\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"grantId\",\"type\":\"bytes32\"},{\"internalType\":\"bytes\",\"name\":\"signature\",\"type\":\"bytes\"}],\"name\":\"revokeWithSignature\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"operator\",\"type\":\"address\"},{\"internalType\":\"bool\",\"name\":\"enabled\",\"type\":\"bool\"}],\"name\":\"setOperator\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"newOwner\",\"type\":\"address\"}],\"name\":\"transferOwnership\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"unpause\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"}]",
	ID:  "MandateRouter",
	Bin: "0x610160604052348015610010575f5ffd5b5060405161320b38038061320b83398101604081905261002f91610209565b806040518060400160405280600d81526020016c26b0b73230ba32a937baba32b960991b815250604051806040016040528060018152602001603160f81b81525061007f8261015f60201b60201c565b6101205261008c8161015f565b61014052815160208084019190912060e052815190820120610100524660a05261011860e05161010051604080517f8b73c3c69bb8fe3d512ecc4cf759cc79239f7b179b0ffacaa9a75d522b39400f60208201529081019290925260608201524660808201523060a08201525f9060c00160405160208183030381529060405280519060200120905090565b60805250503060c0526001600160a01b03811661014f57604051631e4fbdf760e01b81525f60048201526024015b60405180910390fd5b6101588161019c565b5050610291565b5f5f829050601f81511115610189578260405163305a27a960e01b81526004016101469190610236565b80516101948261026b565b179392505050565b600380546001600160a01b03191690556101b5816101b8565b50565b600280546001600160a01b038381166001600160a01b0319831681179093556040519116919082907f8be0079c531659141344cd1fd0a4f28419497f9722a3daafe3b4186f6b6457e0905f90a35050565b5f60208284031215610219575f5ffd5b81516001600160a01b038116811461022f575f5ffd5b9392505050565b602081525f82518060208401528060208501604085015e5f604082850101526040601f19601f83011684010191505092915050565b8051602080830151919081101561028b575f198160200360031b1b821691505b50919050565b60805160a05160c05160e051610100516101205161014051612f296102e25f395f6120ec01525f6120bc01525f61236301525f61233b01525f61229601525f6122c001525f6122ea0152612f295ff3fe608060405234801561000f575f5ffd5b50600436106101bb575f3560e01c80637f819629116100f3578063bc1ed74c11610093578063e31137981161006e578063e3113798146103e1578063ec3b6f16146103f4578063f2fde38b14610407578063fb8a61ff1461041a575f5ffd5b8063bc1ed74c146103aa578063dfb7cb93146103bd578063e30c3978146103d0575f5ffd5b80638b2be7d8116100ce5780638b2be7d8146103355780638da5cb5b1461035f578063b616ec0214610384578063b75c7dc614610397575f5ffd5b80637f819629146102ea5780638456cb591461031257806384b0196e1461031a575f5ffd5b80635ecc86e81161015e57806371fd13a71161013957806371fd13a7146102a957806374e26be7146102bc57806379ba5097146102cf5780637c372acc146102d7575f5ffd5b80635ecc86e8146102775780636d70f7ae1461027f578063715018a6146102a1575f5ffd5b80634c61b804116101995780634c61b8041461020257806350727c4114610215578063558a7297146102355780635c975abb14610248575f5ffd5b80633f4ba83a146101bf57806340f3c23b146101c957806347688969146101ef575b5f5ffd5b6101c761042d565b005b6101dc6101d73660046126e2565b61043f565b6040519081526020015b60405180910390f35b6101dc6101fd366004612780565b6104c2565b6101dc610210366004612821565b6105c7565b610228610223366004612853565b610638565b6040516101e691906128d0565b6101c76102433660046129ec565b6107aa565b60035474010000000000000000000000000000000000000000900460ff165b60405190151581526020016101e6565b6101dc602081565b61026761028d366004612a1d565b60046020525f908152604090205460ff1681565b6101c761082e565b6102676102b7366004612a36565b610868565b6101dc6102ca366004612853565b610a64565b6101c7610aa2565b6102676102e5366004612aab565b610aff565b6102fd6102f8366004612853565b610b59565b60405163ffffffff90911681526020016101e6565b6101c7610bce565b610322610bde565b6040516101e69796959493929190612b18565b610348610343366004612bca565b610c3c565b6040805192151583529015156020830152016101e6565b6002546001600160a01b03165b6040516001600160a01b0390911681526020016101e6565b6101dc610392366004612821565b610c72565b6101c76103a5366004612853565b610dd2565b6101dc6103b8366004612853565b610e91565b6101dc6103cb366004612c04565b61100e565b6003546001600160a01b031661036c565b6101c76103ef366004612853565b61105a565b6101c7610402366004612c2c565b6110a5565b6101c7610415366004612a1d565b611183565b6101dc610428366004612c74565b61120c565b610435611233565b61043d611279565b565b604080517f68abb046b208fdf028e43786307f0955e617b1839a490b172ef2fffb0cc208d860208201529081018690526001600160a01b03851660608201526080810184905260a0810183905260c081018290525f906104b89060e0015b604051602081830303815290604052805190602001206112e9565b9695505050505050565b5f6104cb611330565b6104d6858585611385565b6104df85611414565b90506104f16040860160208701612a1d565b6001600160a01b031663d505accf61050c6020880188612a1d565b30853560208701356105246060890160408a01612cc4565b6040517fffffffff0000000000000000000000000000000000000000000000000000000060e088901b1681526001600160a01b0395861660048201529490931660248501526044840191909152606483015260ff166084820152606085013560a4820152608085013560c482015260e4015f604051808303815f87803b1580156105ac575f5ffd5b505af19250505080156105bd575060015b505b949350505050565b5f6105d0611330565b6105dd6020830183612a1d565b6001600160a01b0316336001600160a01b031614610627576040517f5cd5d23300000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b61063082611414565b90505b919050565b60408051610140810182525f80825260208201819052918101829052606081018290526080810182905260a0810182905260c0810182905260e0810182905261010081018290526101208101919091525f8281526005602090815260409182902082516101408101845281546001600160a01b03808216835274010000000000000000000000000000000000000000918290046bffffffffffffffffffffffff9081169584019590955260018401548082169684019690965294819004841660608301526002808401549586166080840152940490921660a0830152600381015467ffffffffffffffff811660c084015268010000000000000000810463ffffffff1660e0840152919290916101008401916c0100000000000000000000000090910460ff169081111561076e5761076e61286a565b600281111561077f5761077f61286a565b8152600391909101546d0100000000000000000000000000900460ff16151560209091015292915050565b6107b2611233565b6001600160a01b0382165f8181526004602090815260409182902080547fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff001685151590811790915591519182527f1a594081ae893ab78e67d9b9e843547318164322d32c65369d78a96172d9dc8f910160405180910390a25050565b610836611233565b6040517fc5fea89800000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b5f610871611330565b335f9081526004602052604090205460ff166108c0576040517f76c6c93a0000000000000000000000000000000000000000000000000000000081523360048201526024015b60405180910390fd5b5f888152600760209081526040808320888452909152812054906108e48989611a66565b90508082036108f7575f92505050610a59565b8115610932576040517febe68d48000000000000000000000000000000000000000000000000000000008152600481018890526024016108b7565b5f8a815260056020526040902061094b818c8c8c611a89565b86421115610988576040517fbfb22adf000000000000000000000000000000000000000000000000000000008152600481018890526024016108b7565b60028101546109ae906001600160a01b03166109a78d8d8d8d8d61043f565b8888611d37565b5f5f6109ba838c611def565b5f8f81526007602090815260408083208f845282529182902088905581518f815263ffffffff85169181019190915290810182905291935091506001600160a01b038d16908b908f907f7ae7f874dc3c07244c62e47bd10718f24633c6efc4305f4b986f06453fefc5e09060600160405180910390a482546001840154610a4f916001600160a01b0391821691168e8e611fc6565b6001955050505050505b979650505050505050565b604080517f47a14307a94960214a3445003838ae504b3c521cd00f98ad282de1b002ba97b160208201529081018290525f906106309060600161049d565b60035433906001600160a01b03168114610af3576040517f118cdaa70000000000000000000000000000000000000000000000000000000081526001600160a01b03821660048201526024016108b7565b610afc81612015565b50565b5f828152600560205260408120600301546d0100000000000000000000000000900460ff1680610b5057505f8381526006602090815260408083206001600160a01b038616845290915290205460ff165b90505b92915050565b5f610630825f620afa6c620151808304018162023ab18204905062023ab182065f61016d62023ab083046105b484048403618eac850401030490506064810461016d820260048304010382035f6099600260058402010490508083866101900201600c02016002019650505050505050919050565b610bd6611233565b61043d612046565b5f6060805f5f5f6060610bef6120b5565b610bf76120e5565b604080515f808252602082019092527f0f000000000000000000000000000000000000000000000000000000000000009b939a50919850469750309650945092509050565b5f8481526007602090815260408083208684529091528120548190801515610c648686611a66565b909891149650945050505050565b5f6106307f992104f6c74c133e0d8514b157bcb15b0d23b59e2f137f1973243a675f1a1a68610ca46020850185612a1d565b610cb46040860160208701612a1d565b610cc46060870160408801612a1d565b610cd46080880160608901612ce4565b610ce460a0890160808a01612ce4565b610cf460c08a0160a08b01612d0f565b610d0460e08b0160c08c01612d36565b610d1160e08c018c612d4f565b604051602001610d22929190612db3565b604080517fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe081840301815282825280516020918201209083019a909a526001600160a01b039889169082015295871660608701529590931660808501526bffffffffffffffffffffffff91821660a08501521660c083015267ffffffffffffffff1660e082015290151561010080830191909152610120820192909252908401356101408201526101600161049d565b5f818152600560205260409020546001600160a01b031680610e23576040517f28d71ab0000000000000000000000000000000000000000000000000000000008152600481018390526024016108b7565b336001600160a01b03821614801590610e4b5750335f9081526004602052604090205460ff16155b15610e84576040517f5a4c7a3b0000000000000000000000000000000000000000000000000000000081523360048201526024016108b7565b610e8d82612110565b5050565b5f818152600560205260408120600160038201546c01000000000000000000000000900460ff166002811115610ec957610ec961286a565b141580610ee45750600381015467ffffffffffffffff164210155b15610ef157505f92915050565b600381015468010000000000000000900463ffffffff16610f7c425f620afa6c620151808304018162023ab18204905062023ab182065f61016d62023ab083046105b484048403618eac850401030490506064810461016d820260048304010382035f6099600260058402010490508083866101900201600c02016002019650505050505050919050565b63ffffffff1614610fb75760018101547401000000000000000000000000000000000000000090046bffffffffffffffffffffffff16610ff9565b60028101546001820154610ff9916bffffffffffffffffffffffff74010000000000000000000000000000000000000000918290048116929190910416612e1f565b6bffffffffffffffffffffffff169392505050565b6040805146602082015230918101919091526001600160a01b0383166060820152608081018290525f9060a0015b60405160208183030381529060405280519060200120905092915050565b5f611065338361100e565b5f81815260056020526040902080547fffffffffffffffffffffffff000000000000000000000000000000000000000016331790559050610e8d81612110565b5f838152600560205260409020546001600160a01b0316806110f6576040517f28d71ab0000000000000000000000000000000000000000000000000000000008152600481018590526024016108b7565b61113e8161110386610a64565b85858080601f0160208091040260200160405190810160405280939291908181526020018383808284375f920191909152506121c692505050565b611174576040517f5cd5d23300000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b61117d84612110565b50505050565b61118b611233565b600380546001600160a01b0383167fffffffffffffffffffffffff000000000000000000000000000000000000000090911681179091556111d46002546001600160a01b031690565b6001600160a01b03167f38d16b8cac22d99fc7c124b9cd0de2d3fa1faef420bfe791d8c362d765e2270060405160405180910390a350565b5f611215611330565b611220848484611385565b61122984611414565b90505b9392505050565b6002546001600160a01b0316331461043d576040517f118cdaa70000000000000000000000000000000000000000000000000000000081523360048201526024016108b7565b611281612236565b600380547fffffffffffffffffffffff00ffffffffffffffffffffffffffffffffffffffff1690557f5db9ee0a495bf2e6ff9c91a7834c1ba4fdd244a5e8aa4e537bd38aeae4b073aa335b6040516001600160a01b03909116815260200160405180910390a1565b5f6106306112f561228a565b836040517f19010000000000000000000000000000000000000000000000000000000000008152600281019290925260228201526042902090565b60035474010000000000000000000000000000000000000000900460ff161561043d576040517fd93c066500000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b6113d96113956020850185612a1d565b61139e85610c72565b84848080601f0160208091040260200160405190810160405280939291908181526020018383808284375f920191909152506121c692505050565b61140f576040517f5cd5d23300000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b505050565b5f6114306114256020840184612a1d565b83610100013561100e565b90505f5f828152600560205260409020600301546c01000000000000000000000000900460ff1660028111156114685761146861286a565b146114a2576040517fc9a8eb28000000000000000000000000000000000000000000000000000000008152600481018290526024016108b7565b5f6114b06020840184612a1d565b6001600160a01b031614806114dc57505f6114d16040840160208501612a1d565b6001600160a01b0316145b806114fe57505f6114f36060840160408501612a1d565b6001600160a01b0316145b8061152457506115146080830160608401612ce4565b6bffffffffffffffffffffffff16155b80611568575061153a60a0830160808401612ce4565b6bffffffffffffffffffffffff166115586080840160608501612ce4565b6bffffffffffffffffffffffff16115b8061158c57504261157f60c0840160a08501612d0f565b67ffffffffffffffff1611155b806115a5575060206115a160e0840184612d4f565b9050115b806115d057506115b860e0830183612d4f565b1590506115cb60e0840160c08501612d36565b151514155b15611607576040517f09109e3d00000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b604080516101408101909152806116216020850185612a1d565b6001600160a01b0316815260200161163f6080850160608601612ce4565b6bffffffffffffffffffffffff1681526020018360200160208101906116659190612a1d565b6001600160a01b0316815260200161168360a0850160808601612ce4565b6bffffffffffffffffffffffff1681526020016116a66060850160408601612a1d565b6001600160a01b031681525f60208201526040016116ca60c0850160a08601612d0f565b67ffffffffffffffff16815260200161174d425f620afa6c620151808304018162023ab18204905062023ab182065f61016d62023ab083046105b484048403618eac850401030490506064810461016d820260048304010382035f6099600260058402010490508083866101900201600c02016002019650505050505050919050565b63ffffffff1681526020016001815260200161176f60e0850160c08601612d36565b151590525f828152600560209081526040918290208351918401516001600160a01b03928316740100000000000000000000000000000000000000006bffffffffffffffffffffffff92831681029190911783559385015160608601519084169082168502176001830155608085015160a0860151931692169092021760028083019190915560c083015160038301805460e086015167ffffffffffffffff9093167fffffffffffffffffffffffffffffffffffffffff000000000000000000000000909116176801000000000000000063ffffffff9093169290920291909117808255610100850151927fffffffffffffffffffffffffffffffffffffff00ffffffffffffffffffffffff909116906c0100000000000000000000000090849081111561189f5761189f61286a565b02179055506101209190910151600390910180549115156d0100000000000000000000000000027fffffffffffffffffffffffffffffffffffff00ffffffffffffffffffffffffff9092169190911790555f5b6118ff60e0840184612d4f565b9050811015611997575f82815260066020526040812060019161192560e0870187612d4f565b8581811061193557611935612e43565b905060200201602081019061194a9190612a1d565b6001600160a01b0316815260208101919091526040015f2080547fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff00169115159190911790556001016118f2565b506119a86060830160408401612a1d565b6001600160a01b03166119be6020840184612a1d565b6001600160a01b0316827fafca5983acc6e3e2c005c404ffae8c865cbd2e177fad7cb419258413f005ffce6119f96040870160208801612a1d565b611a096080880160608901612ce4565b611a1960a0890160808a01612ce4565b611a2960c08a0160a08b01612d0f565b611a3960e08b0160c08c01612d36565b611a4660e08c018c612d4f565b604051611a599796959493929190612e70565b60405180910390a4919050565b604080516001600160a01b03841660208201529081018290525f9060600161103c565b5f60038501546c01000000000000000000000000900460ff166002811115611ab357611ab361286a565b03611aed576040517f28d71ab0000000000000000000000000000000000000000000000000000000008152600481018490526024016108b7565b600260038501546c01000000000000000000000000900460ff166002811115611b1857611b1861286a565b03611b52576040517fe5af7dae000000000000000000000000000000000000000000000000000000008152600481018490526024016108b7565b600384015467ffffffffffffffff164210611b9c576040517f3077f64f000000000000000000000000000000000000000000000000000000008152600481018490526024016108b7565b805f03611bd5576040517f749b593900000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b83547401000000000000000000000000000000000000000090046bffffffffffffffffffffffff16811115611c675783546040517f538f49d100000000000000000000000000000000000000000000000000000000815260048101839052740100000000000000000000000000000000000000009091046bffffffffffffffffffffffff1660248201526044016108b7565b60038401545f906d0100000000000000000000000000900460ff1680611cae57505f8481526006602090815260408083206001600160a01b038716845290915290205460ff165b9050801580611cc457506001600160a01b038316155b80611cd757506001600160a01b03831630145b80611cee575084546001600160a01b038481169116145b15611d30576040517fbc2f3a3f0000000000000000000000000000000000000000000000000000000081526001600160a01b03841660048201526024016108b7565b5050505050565b5f5f611d788585858080601f0160208091040260200160405190810160405280939291908181526020018383808284375f920191909152506123b392505050565b5090925090505f816003811115611d9157611d9161286a565b141580611db05750856001600160a01b0316826001600160a01b031614155b15611de7576040517f5cd5d23300000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b505050505050565b5f5f611e65425f620afa6c620151808304018162023ab18204905062023ab182065f61016d62023ab083046105b484048403618eac850401030490506064810461016d820260048304010382035f6099600260058402010490508083866101900201600c02016002019650505050505050919050565b600385015490925063ffffffff808416680100000000000000009092041614611e8e575f611eba565b60028401547401000000000000000000000000000000000000000090046bffffffffffffffffffffffff165b60018501546bffffffffffffffffffffffff91821692505f91611ef89184917401000000000000000000000000000000000000000090910416612f03565b905080841115611f3e576040517fbd32be4d00000000000000000000000000000000000000000000000000000000815260048101859052602481018290526044016108b7565b611f488483612f16565b6003860180547fffffffffffffffffffffffffffffffffffffffff00000000ffffffffffffffff166801000000000000000063ffffffff871602179055600290950180546001600160a01b0316740100000000000000000000000000000000000000006bffffffffffffffffffffffff881602179055509093915050565b611fd48484848460016123fc565b61117d576040517f5274afe70000000000000000000000000000000000000000000000000000000081526001600160a01b03851660048201526024016108b7565b600380547fffffffffffffffffffffffff0000000000000000000000000000000000000000169055610afc81612482565b61204e611330565b600380547fffffffffffffffffffffff00ffffffffffffffffffffffffffffffffffffffff16740100000000000000000000000000000000000000001790557f62e78cea01bee320cd4e420270b5ea74000d11b0c9f74754ebdbfc544b05a2586112cc3390565b60606120e07f00000000000000000000000000000000000000000000000000000000000000006124eb565b905090565b60606120e07f00000000000000000000000000000000000000000000000000000000000000006124eb565b5f818152600560205260409020600260038201546c01000000000000000000000000900460ff1660028111156121485761214861286a565b03612151575050565b6003810180547fffffffffffffffffffffffffffffffffffffff00ffffffffffffffffffffffff166c02000000000000000000000000179055805460405133916001600160a01b03169084907f69a8ee861209fb0dd5024aba02bde054115abcf7c5e07694d56444e3fae1d954905f90a45050565b5f836001600160a01b03163b5f03612224575f5f6121e485856123b3565b5090925090505f8160038111156121fd576121fd61286a565b14801561221b5750856001600160a01b0316826001600160a01b0316145b9250505061122c565b61222f848484612528565b905061122c565b60035474010000000000000000000000000000000000000000900460ff1661043d576040517f8dfc202b00000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b5f306001600160a01b037f0000000000000000000000000000000000000000000000000000000000000000161480156122e257507f000000000000000000000000000000000000000000000000000000000000000046145b1561230c57507f000000000000000000000000000000000000000000000000000000000000000090565b6120e0604080517f8b73c3c69bb8fe3d512ecc4cf759cc79239f7b179b0ffacaa9a75d522b39400f60208201527f0000000000000000000000000000000000000000000000000000000000000000918101919091527f000000000000000000000000000000000000000000000000000000000000000060608201524660808201523060a08201525f9060c00160405160208183030381529060405280519060200120905090565b5f5f5f83516041036123ea576020840151604085015160608601515f1a6123dc888285856125a6565b9550955095505050506123f5565b505081515f91506002905b9250925092565b6040517f23b872dd000000000000000000000000000000000000000000000000000000005f8181526001600160a01b038781166004528616602452604485905291602083606481808c5af1925060015f51148316612471578383151615612465573d5f823e3d81fd5b5f883b113d1516831692505b604052505f60605295945050505050565b600280546001600160a01b038381167fffffffffffffffffffffffff0000000000000000000000000000000000000000831681179093556040519116919082907f8be0079c531659141344cd1fd0a4f28419497f9722a3daafe3b4186f6b6457e0905f90a35050565b60605f6124f78361268c565b6040805160208082528183019092529192505f91906020820181803683375050509182525060208101929092525090565b8051604080517f1626ba7e000000000000000000000000000000000000000000000000000000008082526004820186905260248201929092525f92906020820185604483015e5f82606483010152601f820160051c60051b915060205f60648401838a5afa9050825f5114601f3d1116811693505050509392505050565b5f80807f7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a08411156125df57505f91506003905082612682565b604080515f808252602082018084528a905260ff891692820192909252606081018790526080810186905260019060a0016020604051602081039080840390855afa158015612630573d5f5f3e3d5ffd5b50506040517fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe001519150506001600160a01b03811661267957505f925060019150829050612682565b92505f91508190505b9450945094915050565b5f60ff8216601f811115610b53576040517fb3512b0c00000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b80356001600160a01b0381168114610633575f5ffd5b5f5f5f5f5f60a086880312156126f6575f5ffd5b85359450612706602087016126cc565b94979496505050506040830135926060810135926080909101359150565b5f6101208284031215612735575f5ffd5b50919050565b5f5f83601f84011261274b575f5ffd5b50813567ffffffffffffffff811115612762575f5ffd5b602083019150836020828501011115612779575f5ffd5b9250929050565b5f5f5f5f84860360e0811215612794575f5ffd5b853567ffffffffffffffff8111156127aa575f5ffd5b6127b688828901612724565b955050602086013567ffffffffffffffff8111156127d2575f5ffd5b6127de8882890161273b565b90955093505060a07fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffc082011215612813575f5ffd5b509295919450926040019150565b5f60208284031215612831575f5ffd5b813567ffffffffffffffff811115612847575f5ffd5b6105bf84828501612724565b5f60208284031215612863575f5ffd5b5035919050565b7f4e487b71000000000000000000000000000000000000000000000000000000005f52602160045260245ffd5b600381106128cc577f4e487b71000000000000000000000000000000000000000000000000000000005f52602160045260245ffd5b9052565b81516001600160a01b031681526101408101602083015161290160208401826bffffffffffffffffffffffff169052565b50604083015161291c60408401826001600160a01b03169052565b50606083015161293c60608401826bffffffffffffffffffffffff169052565b50608083015161295760808401826001600160a01b03169052565b5060a083015161297760a08401826bffffffffffffffffffffffff169052565b5060c083015161299360c084018267ffffffffffffffff169052565b5060e08301516129ab60e084018263ffffffff169052565b506101008301516129c0610100840182612897565b506101208301516129d661012084018215159052565b5092915050565b80358015158114610633575f5ffd5b5f5f604083850312156129fd575f5ffd5b612a06836126cc565b9150612a14602084016129dd565b90509250929050565b5f60208284031215612a2d575f5ffd5b610b50826126cc565b5f5f5f5f5f5f5f60c0888a031215612a4c575f5ffd5b87359650612a5c602089016126cc565b955060408801359450606088013593506080880135925060a088013567ffffffffffffffff811115612a8c575f5ffd5b612a988a828b0161273b565b989b979a50959850939692959293505050565b5f5f60408385031215612abc575f5ffd5b82359150612a14602084016126cc565b5f81518084528060208401602086015e5f6020828601015260207fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe0601f83011685010191505092915050565b7fff000000000000000000000000000000000000000000000000000000000000008816815260e060208201525f612b5260e0830189612acc565b8281036040840152612b648189612acc565b606084018890526001600160a01b038716608085015260a0840186905283810360c0850152845180825260208087019350909101905f5b81811015612bb9578351835260209384019390920191600101612b9b565b50909b9a5050505050505050505050565b5f5f5f5f60808587031215612bdd575f5ffd5b8435935060208501359250612bf4604086016126cc565b9396929550929360600135925050565b5f5f60408385031215612c15575f5ffd5b612c1e836126cc565b946020939093013593505050565b5f5f5f60408486031215612c3e575f5ffd5b83359250602084013567ffffffffffffffff811115612c5b575f5ffd5b612c678682870161273b565b9497909650939450505050565b5f5f5f60408486031215612c86575f5ffd5b833567ffffffffffffffff811115612c9c575f5ffd5b612ca886828701612724565b935050602084013567ffffffffffffffff811115612c5b575f5ffd5b5f60208284031215612cd4575f5ffd5b813560ff8116811461122c575f5ffd5b5f60208284031215612cf4575f5ffd5b81356bffffffffffffffffffffffff8116811461122c575f5ffd5b5f60208284031215612d1f575f5ffd5b813567ffffffffffffffff8116811461122c575f5ffd5b5f60208284031215612d46575f5ffd5b610b50826129dd565b5f5f83357fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe1843603018112612d82575f5ffd5b83018035915067ffffffffffffffff821115612d9c575f5ffd5b6020019150600581901b3603821315612779575f5ffd5b5f8184825b85811015612de7576001600160a01b03612dd1836126cc565b1683526020928301929190910190600101612db8565b509095945050505050565b7f4e487b71000000000000000000000000000000000000000000000000000000005f52601160045260245ffd5b6bffffffffffffffffffffffff8281168282160390811115610b5357610b53612df2565b7f4e487b71000000000000000000000000000000000000000000000000000000005f52603260045260245ffd5b6001600160a01b03881681526bffffffffffffffffffffffff87811660208301528616604082015267ffffffffffffffff85166060820152831515608082015260c060a0820181905281018290525f8360e08301825b85811015612ef4576001600160a01b03612edf846126cc565b16825260209283019290910190600101612ec6565b509a9950505050505050505050565b81810381811115610b5357610b53612df2565b80820180821115610b5357610b53612df256",
}

// MandateRouter is an auto generated Go binding around an Ethereum contract.
type MandateRouter struct {
	abi abi.ABI
}

// GetABI returns the ABI associated with this contract binding.
func (c *MandateRouter) GetABI() abi.ABI {
	return c.abi
}

// NewMandateRouter creates a new instance of MandateRouter.
func NewMandateRouter() *MandateRouter {
	parsed, err := MandateRouterMetaData.ParseABI()
	if err != nil {
		panic(errors.New("invalid ABI: " + err.Error()))
	}
	return &MandateRouter{abi: *parsed}
}

// Instance creates a wrapper for a deployed contract instance at the given address.
// Use this to create the instance object passed to abigen v2 library functions Call, Transact, etc.
func (c *MandateRouter) Instance(backend bind.ContractBackend, addr common.Address) *bind.BoundContract {
	return bind.NewBoundContract(addr, c.abi, backend, backend, backend)
}

// PackConstructor is the Go binding used to pack the parameters required for
// contract deployment.
//
// Solidity: constructor(address admin) returns()
func (mandateRouter *MandateRouter) PackConstructor(admin common.Address) []byte {
	enc, err := mandateRouter.abi.Pack("", admin)
	if err != nil {
		panic(err)
	}
	return enc
}

// PackMAXPAYEES is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x5ecc86e8.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function MAX_PAYEES() view returns(uint256)
func (mandateRouter *MandateRouter) PackMAXPAYEES() []byte {
	enc, err := mandateRouter.abi.Pack("MAX_PAYEES")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackMAXPAYEES is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x5ecc86e8.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function MAX_PAYEES() view returns(uint256)
func (mandateRouter *MandateRouter) TryPackMAXPAYEES() ([]byte, error) {
	return mandateRouter.abi.Pack("MAX_PAYEES")
}

// UnpackMAXPAYEES is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x5ecc86e8.
//
// Solidity: function MAX_PAYEES() view returns(uint256)
func (mandateRouter *MandateRouter) UnpackMAXPAYEES(data []byte) (*big.Int, error) {
	out, err := mandateRouter.abi.Unpack("MAX_PAYEES", data)
	if err != nil {
		return new(big.Int), err
	}
	out0 := abi.ConvertType(out[0], new(big.Int)).(*big.Int)
	return out0, nil
}

// PackAcceptOwnership is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x79ba5097.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function acceptOwnership() returns()
func (mandateRouter *MandateRouter) PackAcceptOwnership() []byte {
	enc, err := mandateRouter.abi.Pack("acceptOwnership")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackAcceptOwnership is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x79ba5097.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function acceptOwnership() returns()
func (mandateRouter *MandateRouter) TryPackAcceptOwnership() ([]byte, error) {
	return mandateRouter.abi.Pack("acceptOwnership")
}

// PackCharge is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x71fd13a7.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function charge(bytes32 grantId, address payee, uint256 amount, bytes32 ref, uint256 deadline, bytes signature) returns(bool moved)
func (mandateRouter *MandateRouter) PackCharge(grantId [32]byte, payee common.Address, amount *big.Int, ref [32]byte, deadline *big.Int, signature []byte) []byte {
	enc, err := mandateRouter.abi.Pack("charge", grantId, payee, amount, ref, deadline, signature)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackCharge is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x71fd13a7.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function charge(bytes32 grantId, address payee, uint256 amount, bytes32 ref, uint256 deadline, bytes signature) returns(bool moved)
func (mandateRouter *MandateRouter) TryPackCharge(grantId [32]byte, payee common.Address, amount *big.Int, ref [32]byte, deadline *big.Int, signature []byte) ([]byte, error) {
	return mandateRouter.abi.Pack("charge", grantId, payee, amount, ref, deadline, signature)
}

// UnpackCharge is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x71fd13a7.
//
// Solidity: function charge(bytes32 grantId, address payee, uint256 amount, bytes32 ref, uint256 deadline, bytes signature) returns(bool moved)
func (mandateRouter *MandateRouter) UnpackCharge(data []byte) (bool, error) {
	out, err := mandateRouter.abi.Unpack("charge", data)
	if err != nil {
		return *new(bool), err
	}
	out0 := *abi.ConvertType(out[0], new(bool)).(*bool)
	return out0, nil
}

// PackCharged is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x8b2be7d8.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function charged(bytes32 grantId, bytes32 ref, address payee, uint256 amount) view returns(bool any, bool same)
func (mandateRouter *MandateRouter) PackCharged(grantId [32]byte, ref [32]byte, payee common.Address, amount *big.Int) []byte {
	enc, err := mandateRouter.abi.Pack("charged", grantId, ref, payee, amount)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackCharged is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x8b2be7d8.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function charged(bytes32 grantId, bytes32 ref, address payee, uint256 amount) view returns(bool any, bool same)
func (mandateRouter *MandateRouter) TryPackCharged(grantId [32]byte, ref [32]byte, payee common.Address, amount *big.Int) ([]byte, error) {
	return mandateRouter.abi.Pack("charged", grantId, ref, payee, amount)
}

// ChargedOutput serves as a container for the return parameters of contract
// method Charged.
type ChargedOutput struct {
	Any  bool
	Same bool
}

// UnpackCharged is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x8b2be7d8.
//
// Solidity: function charged(bytes32 grantId, bytes32 ref, address payee, uint256 amount) view returns(bool any, bool same)
func (mandateRouter *MandateRouter) UnpackCharged(data []byte) (ChargedOutput, error) {
	out, err := mandateRouter.abi.Unpack("charged", data)
	outstruct := new(ChargedOutput)
	if err != nil {
		return *outstruct, err
	}
	outstruct.Any = *abi.ConvertType(out[0], new(bool)).(*bool)
	outstruct.Same = *abi.ConvertType(out[1], new(bool)).(*bool)
	return *outstruct, nil
}

// PackEip712Domain is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x84b0196e.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function eip712Domain() view returns(bytes1 fields, string name, string version, uint256 chainId, address verifyingContract, bytes32 salt, uint256[] extensions)
func (mandateRouter *MandateRouter) PackEip712Domain() []byte {
	enc, err := mandateRouter.abi.Pack("eip712Domain")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackEip712Domain is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x84b0196e.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function eip712Domain() view returns(bytes1 fields, string name, string version, uint256 chainId, address verifyingContract, bytes32 salt, uint256[] extensions)
func (mandateRouter *MandateRouter) TryPackEip712Domain() ([]byte, error) {
	return mandateRouter.abi.Pack("eip712Domain")
}

// Eip712DomainOutput serves as a container for the return parameters of contract
// method Eip712Domain.
type Eip712DomainOutput struct {
	Fields            [1]byte
	Name              string
	Version           string
	ChainId           *big.Int
	VerifyingContract common.Address
	Salt              [32]byte
	Extensions        []*big.Int
}

// UnpackEip712Domain is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x84b0196e.
//
// Solidity: function eip712Domain() view returns(bytes1 fields, string name, string version, uint256 chainId, address verifyingContract, bytes32 salt, uint256[] extensions)
func (mandateRouter *MandateRouter) UnpackEip712Domain(data []byte) (Eip712DomainOutput, error) {
	out, err := mandateRouter.abi.Unpack("eip712Domain", data)
	outstruct := new(Eip712DomainOutput)
	if err != nil {
		return *outstruct, err
	}
	outstruct.Fields = *abi.ConvertType(out[0], new([1]byte)).(*[1]byte)
	outstruct.Name = *abi.ConvertType(out[1], new(string)).(*string)
	outstruct.Version = *abi.ConvertType(out[2], new(string)).(*string)
	outstruct.ChainId = abi.ConvertType(out[3], new(big.Int)).(*big.Int)
	outstruct.VerifyingContract = *abi.ConvertType(out[4], new(common.Address)).(*common.Address)
	outstruct.Salt = *abi.ConvertType(out[5], new([32]byte)).(*[32]byte)
	outstruct.Extensions = *abi.ConvertType(out[6], new([]*big.Int)).(*[]*big.Int)
	return *outstruct, nil
}

// PackGrant is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x4c61b804.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function grant((address,address,address,uint96,uint96,uint64,bool,address[],bytes32) g) returns(bytes32 grantId)
func (mandateRouter *MandateRouter) PackGrant(g MandateRouterGrant) []byte {
	enc, err := mandateRouter.abi.Pack("grant", g)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackGrant is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x4c61b804.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function grant((address,address,address,uint96,uint96,uint64,bool,address[],bytes32) g) returns(bytes32 grantId)
func (mandateRouter *MandateRouter) TryPackGrant(g MandateRouterGrant) ([]byte, error) {
	return mandateRouter.abi.Pack("grant", g)
}

// UnpackGrant is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x4c61b804.
//
// Solidity: function grant((address,address,address,uint96,uint96,uint64,bool,address[],bytes32) g) returns(bytes32 grantId)
func (mandateRouter *MandateRouter) UnpackGrant(data []byte) ([32]byte, error) {
	out, err := mandateRouter.abi.Unpack("grant", data)
	if err != nil {
		return *new([32]byte), err
	}
	out0 := *abi.ConvertType(out[0], new([32]byte)).(*[32]byte)
	return out0, nil
}

// PackGrantIdOf is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xdfb7cb93.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function grantIdOf(address owner_, bytes32 salt) view returns(bytes32)
func (mandateRouter *MandateRouter) PackGrantIdOf(owner common.Address, salt [32]byte) []byte {
	enc, err := mandateRouter.abi.Pack("grantIdOf", owner, salt)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackGrantIdOf is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xdfb7cb93.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function grantIdOf(address owner_, bytes32 salt) view returns(bytes32)
func (mandateRouter *MandateRouter) TryPackGrantIdOf(owner common.Address, salt [32]byte) ([]byte, error) {
	return mandateRouter.abi.Pack("grantIdOf", owner, salt)
}

// UnpackGrantIdOf is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xdfb7cb93.
//
// Solidity: function grantIdOf(address owner_, bytes32 salt) view returns(bytes32)
func (mandateRouter *MandateRouter) UnpackGrantIdOf(data []byte) ([32]byte, error) {
	out, err := mandateRouter.abi.Unpack("grantIdOf", data)
	if err != nil {
		return *new([32]byte), err
	}
	out0 := *abi.ConvertType(out[0], new([32]byte)).(*[32]byte)
	return out0, nil
}

// PackGrantWithPermit is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x47688969.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function grantWithPermit((address,address,address,uint96,uint96,uint64,bool,address[],bytes32) g, bytes signature, (uint256,uint256,uint8,bytes32,bytes32) p) returns(bytes32 grantId)
func (mandateRouter *MandateRouter) PackGrantWithPermit(g MandateRouterGrant, signature []byte, p MandateRouterPermit) []byte {
	enc, err := mandateRouter.abi.Pack("grantWithPermit", g, signature, p)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackGrantWithPermit is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x47688969.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function grantWithPermit((address,address,address,uint96,uint96,uint64,bool,address[],bytes32) g, bytes signature, (uint256,uint256,uint8,bytes32,bytes32) p) returns(bytes32 grantId)
func (mandateRouter *MandateRouter) TryPackGrantWithPermit(g MandateRouterGrant, signature []byte, p MandateRouterPermit) ([]byte, error) {
	return mandateRouter.abi.Pack("grantWithPermit", g, signature, p)
}

// UnpackGrantWithPermit is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x47688969.
//
// Solidity: function grantWithPermit((address,address,address,uint96,uint96,uint64,bool,address[],bytes32) g, bytes signature, (uint256,uint256,uint8,bytes32,bytes32) p) returns(bytes32 grantId)
func (mandateRouter *MandateRouter) UnpackGrantWithPermit(data []byte) ([32]byte, error) {
	out, err := mandateRouter.abi.Unpack("grantWithPermit", data)
	if err != nil {
		return *new([32]byte), err
	}
	out0 := *abi.ConvertType(out[0], new([32]byte)).(*[32]byte)
	return out0, nil
}

// PackGrantWithSignature is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xfb8a61ff.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function grantWithSignature((address,address,address,uint96,uint96,uint64,bool,address[],bytes32) g, bytes signature) returns(bytes32 grantId)
func (mandateRouter *MandateRouter) PackGrantWithSignature(g MandateRouterGrant, signature []byte) []byte {
	enc, err := mandateRouter.abi.Pack("grantWithSignature", g, signature)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackGrantWithSignature is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xfb8a61ff.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function grantWithSignature((address,address,address,uint96,uint96,uint64,bool,address[],bytes32) g, bytes signature) returns(bytes32 grantId)
func (mandateRouter *MandateRouter) TryPackGrantWithSignature(g MandateRouterGrant, signature []byte) ([]byte, error) {
	return mandateRouter.abi.Pack("grantWithSignature", g, signature)
}

// UnpackGrantWithSignature is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xfb8a61ff.
//
// Solidity: function grantWithSignature((address,address,address,uint96,uint96,uint64,bool,address[],bytes32) g, bytes signature) returns(bytes32 grantId)
func (mandateRouter *MandateRouter) UnpackGrantWithSignature(data []byte) ([32]byte, error) {
	out, err := mandateRouter.abi.Unpack("grantWithSignature", data)
	if err != nil {
		return *new([32]byte), err
	}
	out0 := *abi.ConvertType(out[0], new([32]byte)).(*[32]byte)
	return out0, nil
}

// PackHashCharge is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x40f3c23b.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function hashCharge(bytes32 grantId, address payee, uint256 amount, bytes32 ref, uint256 deadline) view returns(bytes32)
func (mandateRouter *MandateRouter) PackHashCharge(grantId [32]byte, payee common.Address, amount *big.Int, ref [32]byte, deadline *big.Int) []byte {
	enc, err := mandateRouter.abi.Pack("hashCharge", grantId, payee, amount, ref, deadline)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackHashCharge is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x40f3c23b.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function hashCharge(bytes32 grantId, address payee, uint256 amount, bytes32 ref, uint256 deadline) view returns(bytes32)
func (mandateRouter *MandateRouter) TryPackHashCharge(grantId [32]byte, payee common.Address, amount *big.Int, ref [32]byte, deadline *big.Int) ([]byte, error) {
	return mandateRouter.abi.Pack("hashCharge", grantId, payee, amount, ref, deadline)
}

// UnpackHashCharge is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x40f3c23b.
//
// Solidity: function hashCharge(bytes32 grantId, address payee, uint256 amount, bytes32 ref, uint256 deadline) view returns(bytes32)
func (mandateRouter *MandateRouter) UnpackHashCharge(data []byte) ([32]byte, error) {
	out, err := mandateRouter.abi.Unpack("hashCharge", data)
	if err != nil {
		return *new([32]byte), err
	}
	out0 := *abi.ConvertType(out[0], new([32]byte)).(*[32]byte)
	return out0, nil
}

// PackHashGrant is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xb616ec02.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function hashGrant((address,address,address,uint96,uint96,uint64,bool,address[],bytes32) g) view returns(bytes32)
func (mandateRouter *MandateRouter) PackHashGrant(g MandateRouterGrant) []byte {
	enc, err := mandateRouter.abi.Pack("hashGrant", g)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackHashGrant is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xb616ec02.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function hashGrant((address,address,address,uint96,uint96,uint64,bool,address[],bytes32) g) view returns(bytes32)
func (mandateRouter *MandateRouter) TryPackHashGrant(g MandateRouterGrant) ([]byte, error) {
	return mandateRouter.abi.Pack("hashGrant", g)
}

// UnpackHashGrant is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xb616ec02.
//
// Solidity: function hashGrant((address,address,address,uint96,uint96,uint64,bool,address[],bytes32) g) view returns(bytes32)
func (mandateRouter *MandateRouter) UnpackHashGrant(data []byte) ([32]byte, error) {
	out, err := mandateRouter.abi.Unpack("hashGrant", data)
	if err != nil {
		return *new([32]byte), err
	}
	out0 := *abi.ConvertType(out[0], new([32]byte)).(*[32]byte)
	return out0, nil
}

// PackHashRevoke is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x74e26be7.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function hashRevoke(bytes32 grantId) view returns(bytes32)
func (mandateRouter *MandateRouter) PackHashRevoke(grantId [32]byte) []byte {
	enc, err := mandateRouter.abi.Pack("hashRevoke", grantId)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackHashRevoke is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x74e26be7.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function hashRevoke(bytes32 grantId) view returns(bytes32)
func (mandateRouter *MandateRouter) TryPackHashRevoke(grantId [32]byte) ([]byte, error) {
	return mandateRouter.abi.Pack("hashRevoke", grantId)
}

// UnpackHashRevoke is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x74e26be7.
//
// Solidity: function hashRevoke(bytes32 grantId) view returns(bytes32)
func (mandateRouter *MandateRouter) UnpackHashRevoke(data []byte) ([32]byte, error) {
	out, err := mandateRouter.abi.Unpack("hashRevoke", data)
	if err != nil {
		return *new([32]byte), err
	}
	out0 := *abi.ConvertType(out[0], new([32]byte)).(*[32]byte)
	return out0, nil
}

// PackIsOperator is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x6d70f7ae.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function isOperator(address operator) view returns(bool)
func (mandateRouter *MandateRouter) PackIsOperator(operator common.Address) []byte {
	enc, err := mandateRouter.abi.Pack("isOperator", operator)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackIsOperator is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x6d70f7ae.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function isOperator(address operator) view returns(bool)
func (mandateRouter *MandateRouter) TryPackIsOperator(operator common.Address) ([]byte, error) {
	return mandateRouter.abi.Pack("isOperator", operator)
}

// UnpackIsOperator is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x6d70f7ae.
//
// Solidity: function isOperator(address operator) view returns(bool)
func (mandateRouter *MandateRouter) UnpackIsOperator(data []byte) (bool, error) {
	out, err := mandateRouter.abi.Unpack("isOperator", data)
	if err != nil {
		return *new(bool), err
	}
	out0 := *abi.ConvertType(out[0], new(bool)).(*bool)
	return out0, nil
}

// PackIsPayee is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x7c372acc.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function isPayee(bytes32 grantId, address payee) view returns(bool)
func (mandateRouter *MandateRouter) PackIsPayee(grantId [32]byte, payee common.Address) []byte {
	enc, err := mandateRouter.abi.Pack("isPayee", grantId, payee)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackIsPayee is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x7c372acc.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function isPayee(bytes32 grantId, address payee) view returns(bool)
func (mandateRouter *MandateRouter) TryPackIsPayee(grantId [32]byte, payee common.Address) ([]byte, error) {
	return mandateRouter.abi.Pack("isPayee", grantId, payee)
}

// UnpackIsPayee is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x7c372acc.
//
// Solidity: function isPayee(bytes32 grantId, address payee) view returns(bool)
func (mandateRouter *MandateRouter) UnpackIsPayee(data []byte) (bool, error) {
	out, err := mandateRouter.abi.Unpack("isPayee", data)
	if err != nil {
		return *new(bool), err
	}
	out0 := *abi.ConvertType(out[0], new(bool)).(*bool)
	return out0, nil
}

// PackMandate is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x50727c41.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function mandate(bytes32 grantId) view returns((address,uint96,address,uint96,address,uint96,uint64,uint32,uint8,bool))
func (mandateRouter *MandateRouter) PackMandate(grantId [32]byte) []byte {
	enc, err := mandateRouter.abi.Pack("mandate", grantId)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackMandate is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x50727c41.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function mandate(bytes32 grantId) view returns((address,uint96,address,uint96,address,uint96,uint64,uint32,uint8,bool))
func (mandateRouter *MandateRouter) TryPackMandate(grantId [32]byte) ([]byte, error) {
	return mandateRouter.abi.Pack("mandate", grantId)
}

// UnpackMandate is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x50727c41.
//
// Solidity: function mandate(bytes32 grantId) view returns((address,uint96,address,uint96,address,uint96,uint64,uint32,uint8,bool))
func (mandateRouter *MandateRouter) UnpackMandate(data []byte) (MandateRouterMandate, error) {
	out, err := mandateRouter.abi.Unpack("mandate", data)
	if err != nil {
		return *new(MandateRouterMandate), err
	}
	out0 := *abi.ConvertType(out[0], new(MandateRouterMandate)).(*MandateRouterMandate)
	return out0, nil
}

// PackMonthOf is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x7f819629.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function monthOf(uint256 timestamp) pure returns(uint32)
func (mandateRouter *MandateRouter) PackMonthOf(timestamp *big.Int) []byte {
	enc, err := mandateRouter.abi.Pack("monthOf", timestamp)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackMonthOf is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x7f819629.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function monthOf(uint256 timestamp) pure returns(uint32)
func (mandateRouter *MandateRouter) TryPackMonthOf(timestamp *big.Int) ([]byte, error) {
	return mandateRouter.abi.Pack("monthOf", timestamp)
}

// UnpackMonthOf is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x7f819629.
//
// Solidity: function monthOf(uint256 timestamp) pure returns(uint32)
func (mandateRouter *MandateRouter) UnpackMonthOf(data []byte) (uint32, error) {
	out, err := mandateRouter.abi.Unpack("monthOf", data)
	if err != nil {
		return *new(uint32), err
	}
	out0 := *abi.ConvertType(out[0], new(uint32)).(*uint32)
	return out0, nil
}

// PackOwner is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x8da5cb5b.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function owner() view returns(address)
func (mandateRouter *MandateRouter) PackOwner() []byte {
	enc, err := mandateRouter.abi.Pack("owner")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackOwner is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x8da5cb5b.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function owner() view returns(address)
func (mandateRouter *MandateRouter) TryPackOwner() ([]byte, error) {
	return mandateRouter.abi.Pack("owner")
}

// UnpackOwner is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x8da5cb5b.
//
// Solidity: function owner() view returns(address)
func (mandateRouter *MandateRouter) UnpackOwner(data []byte) (common.Address, error) {
	out, err := mandateRouter.abi.Unpack("owner", data)
	if err != nil {
		return *new(common.Address), err
	}
	out0 := *abi.ConvertType(out[0], new(common.Address)).(*common.Address)
	return out0, nil
}

// PackPause is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x8456cb59.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function pause() returns()
func (mandateRouter *MandateRouter) PackPause() []byte {
	enc, err := mandateRouter.abi.Pack("pause")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackPause is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x8456cb59.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function pause() returns()
func (mandateRouter *MandateRouter) TryPackPause() ([]byte, error) {
	return mandateRouter.abi.Pack("pause")
}

// PackPaused is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x5c975abb.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function paused() view returns(bool)
func (mandateRouter *MandateRouter) PackPaused() []byte {
	enc, err := mandateRouter.abi.Pack("paused")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackPaused is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x5c975abb.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function paused() view returns(bool)
func (mandateRouter *MandateRouter) TryPackPaused() ([]byte, error) {
	return mandateRouter.abi.Pack("paused")
}

// UnpackPaused is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x5c975abb.
//
// Solidity: function paused() view returns(bool)
func (mandateRouter *MandateRouter) UnpackPaused(data []byte) (bool, error) {
	out, err := mandateRouter.abi.Unpack("paused", data)
	if err != nil {
		return *new(bool), err
	}
	out0 := *abi.ConvertType(out[0], new(bool)).(*bool)
	return out0, nil
}

// PackPendingOwner is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xe30c3978.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function pendingOwner() view returns(address)
func (mandateRouter *MandateRouter) PackPendingOwner() []byte {
	enc, err := mandateRouter.abi.Pack("pendingOwner")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackPendingOwner is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xe30c3978.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function pendingOwner() view returns(address)
func (mandateRouter *MandateRouter) TryPackPendingOwner() ([]byte, error) {
	return mandateRouter.abi.Pack("pendingOwner")
}

// UnpackPendingOwner is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xe30c3978.
//
// Solidity: function pendingOwner() view returns(address)
func (mandateRouter *MandateRouter) UnpackPendingOwner(data []byte) (common.Address, error) {
	out, err := mandateRouter.abi.Unpack("pendingOwner", data)
	if err != nil {
		return *new(common.Address), err
	}
	out0 := *abi.ConvertType(out[0], new(common.Address)).(*common.Address)
	return out0, nil
}

// PackRefuse is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xe3113798.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function refuse(bytes32 salt) returns()
func (mandateRouter *MandateRouter) PackRefuse(salt [32]byte) []byte {
	enc, err := mandateRouter.abi.Pack("refuse", salt)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackRefuse is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xe3113798.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function refuse(bytes32 salt) returns()
func (mandateRouter *MandateRouter) TryPackRefuse(salt [32]byte) ([]byte, error) {
	return mandateRouter.abi.Pack("refuse", salt)
}

// PackRemaining is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xbc1ed74c.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function remaining(bytes32 grantId) view returns(uint256)
func (mandateRouter *MandateRouter) PackRemaining(grantId [32]byte) []byte {
	enc, err := mandateRouter.abi.Pack("remaining", grantId)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackRemaining is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xbc1ed74c.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function remaining(bytes32 grantId) view returns(uint256)
func (mandateRouter *MandateRouter) TryPackRemaining(grantId [32]byte) ([]byte, error) {
	return mandateRouter.abi.Pack("remaining", grantId)
}

// UnpackRemaining is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xbc1ed74c.
//
// Solidity: function remaining(bytes32 grantId) view returns(uint256)
func (mandateRouter *MandateRouter) UnpackRemaining(data []byte) (*big.Int, error) {
	out, err := mandateRouter.abi.Unpack("remaining", data)
	if err != nil {
		return new(big.Int), err
	}
	out0 := abi.ConvertType(out[0], new(big.Int)).(*big.Int)
	return out0, nil
}

// PackRenounceOwnership is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x715018a6.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function renounceOwnership() view returns()
func (mandateRouter *MandateRouter) PackRenounceOwnership() []byte {
	enc, err := mandateRouter.abi.Pack("renounceOwnership")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackRenounceOwnership is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x715018a6.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function renounceOwnership() view returns()
func (mandateRouter *MandateRouter) TryPackRenounceOwnership() ([]byte, error) {
	return mandateRouter.abi.Pack("renounceOwnership")
}

// PackRevoke is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xb75c7dc6.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function revoke(bytes32 grantId) returns()
func (mandateRouter *MandateRouter) PackRevoke(grantId [32]byte) []byte {
	enc, err := mandateRouter.abi.Pack("revoke", grantId)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackRevoke is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xb75c7dc6.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function revoke(bytes32 grantId) returns()
func (mandateRouter *MandateRouter) TryPackRevoke(grantId [32]byte) ([]byte, error) {
	return mandateRouter.abi.Pack("revoke", grantId)
}

// PackRevokeWithSignature is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xec3b6f16.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function revokeWithSignature(bytes32 grantId, bytes signature) returns()
func (mandateRouter *MandateRouter) PackRevokeWithSignature(grantId [32]byte, signature []byte) []byte {
	enc, err := mandateRouter.abi.Pack("revokeWithSignature", grantId, signature)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackRevokeWithSignature is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xec3b6f16.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function revokeWithSignature(bytes32 grantId, bytes signature) returns()
func (mandateRouter *MandateRouter) TryPackRevokeWithSignature(grantId [32]byte, signature []byte) ([]byte, error) {
	return mandateRouter.abi.Pack("revokeWithSignature", grantId, signature)
}

// PackSetOperator is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x558a7297.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function setOperator(address operator, bool enabled) returns()
func (mandateRouter *MandateRouter) PackSetOperator(operator common.Address, enabled bool) []byte {
	enc, err := mandateRouter.abi.Pack("setOperator", operator, enabled)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackSetOperator is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x558a7297.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function setOperator(address operator, bool enabled) returns()
func (mandateRouter *MandateRouter) TryPackSetOperator(operator common.Address, enabled bool) ([]byte, error) {
	return mandateRouter.abi.Pack("setOperator", operator, enabled)
}

// PackTransferOwnership is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xf2fde38b.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function transferOwnership(address newOwner) returns()
func (mandateRouter *MandateRouter) PackTransferOwnership(newOwner common.Address) []byte {
	enc, err := mandateRouter.abi.Pack("transferOwnership", newOwner)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackTransferOwnership is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xf2fde38b.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function transferOwnership(address newOwner) returns()
func (mandateRouter *MandateRouter) TryPackTransferOwnership(newOwner common.Address) ([]byte, error) {
	return mandateRouter.abi.Pack("transferOwnership", newOwner)
}

// PackUnpause is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x3f4ba83a.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function unpause() returns()
func (mandateRouter *MandateRouter) PackUnpause() []byte {
	enc, err := mandateRouter.abi.Pack("unpause")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackUnpause is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x3f4ba83a.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function unpause() returns()
func (mandateRouter *MandateRouter) TryPackUnpause() ([]byte, error) {
	return mandateRouter.abi.Pack("unpause")
}

// MandateRouterCharged represents a Charged event raised by the MandateRouter contract.
type MandateRouterCharged struct {
	GrantId [32]byte
	Ref     [32]byte
	Payee   common.Address
	Amount  *big.Int
	Month   uint32
	Spent   *big.Int
	Raw     *types.Log // Blockchain specific contextual infos
}

const MandateRouterChargedEventName = "Charged"

// ContractEventName returns the user-defined event name.
func (MandateRouterCharged) ContractEventName() string {
	return MandateRouterChargedEventName
}

// UnpackChargedEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event Charged(bytes32 indexed grantId, bytes32 indexed ref, address indexed payee, uint256 amount, uint32 month, uint256 spent)
func (mandateRouter *MandateRouter) UnpackChargedEvent(log *types.Log) (*MandateRouterCharged, error) {
	event := "Charged"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != mandateRouter.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(MandateRouterCharged)
	if len(log.Data) > 0 {
		if err := mandateRouter.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range mandateRouter.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// MandateRouterEIP712DomainChanged represents a EIP712DomainChanged event raised by the MandateRouter contract.
type MandateRouterEIP712DomainChanged struct {
	Raw *types.Log // Blockchain specific contextual infos
}

const MandateRouterEIP712DomainChangedEventName = "EIP712DomainChanged"

// ContractEventName returns the user-defined event name.
func (MandateRouterEIP712DomainChanged) ContractEventName() string {
	return MandateRouterEIP712DomainChangedEventName
}

// UnpackEIP712DomainChangedEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event EIP712DomainChanged()
func (mandateRouter *MandateRouter) UnpackEIP712DomainChangedEvent(log *types.Log) (*MandateRouterEIP712DomainChanged, error) {
	event := "EIP712DomainChanged"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != mandateRouter.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(MandateRouterEIP712DomainChanged)
	if len(log.Data) > 0 {
		if err := mandateRouter.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range mandateRouter.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// MandateRouterMandateGranted represents a MandateGranted event raised by the MandateRouter contract.
type MandateRouterMandateGranted struct {
	GrantId      [32]byte
	Owner        common.Address
	SessionKey   common.Address
	Token        common.Address
	MaxPerCharge *big.Int
	MaxPerMonth  *big.Int
	ExpiresAt    uint64
	AnyPayee     bool
	Payees       []common.Address
	Raw          *types.Log // Blockchain specific contextual infos
}

const MandateRouterMandateGrantedEventName = "MandateGranted"

// ContractEventName returns the user-defined event name.
func (MandateRouterMandateGranted) ContractEventName() string {
	return MandateRouterMandateGrantedEventName
}

// UnpackMandateGrantedEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event MandateGranted(bytes32 indexed grantId, address indexed owner, address indexed sessionKey, address token, uint96 maxPerCharge, uint96 maxPerMonth, uint64 expiresAt, bool anyPayee, address[] payees)
func (mandateRouter *MandateRouter) UnpackMandateGrantedEvent(log *types.Log) (*MandateRouterMandateGranted, error) {
	event := "MandateGranted"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != mandateRouter.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(MandateRouterMandateGranted)
	if len(log.Data) > 0 {
		if err := mandateRouter.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range mandateRouter.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// MandateRouterMandateRevoked represents a MandateRevoked event raised by the MandateRouter contract.
type MandateRouterMandateRevoked struct {
	GrantId [32]byte
	Owner   common.Address
	By      common.Address
	Raw     *types.Log // Blockchain specific contextual infos
}

const MandateRouterMandateRevokedEventName = "MandateRevoked"

// ContractEventName returns the user-defined event name.
func (MandateRouterMandateRevoked) ContractEventName() string {
	return MandateRouterMandateRevokedEventName
}

// UnpackMandateRevokedEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event MandateRevoked(bytes32 indexed grantId, address indexed owner, address indexed by)
func (mandateRouter *MandateRouter) UnpackMandateRevokedEvent(log *types.Log) (*MandateRouterMandateRevoked, error) {
	event := "MandateRevoked"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != mandateRouter.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(MandateRouterMandateRevoked)
	if len(log.Data) > 0 {
		if err := mandateRouter.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range mandateRouter.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// MandateRouterOperatorSet represents a OperatorSet event raised by the MandateRouter contract.
type MandateRouterOperatorSet struct {
	Operator common.Address
	Enabled  bool
	Raw      *types.Log // Blockchain specific contextual infos
}

const MandateRouterOperatorSetEventName = "OperatorSet"

// ContractEventName returns the user-defined event name.
func (MandateRouterOperatorSet) ContractEventName() string {
	return MandateRouterOperatorSetEventName
}

// UnpackOperatorSetEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event OperatorSet(address indexed operator, bool enabled)
func (mandateRouter *MandateRouter) UnpackOperatorSetEvent(log *types.Log) (*MandateRouterOperatorSet, error) {
	event := "OperatorSet"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != mandateRouter.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(MandateRouterOperatorSet)
	if len(log.Data) > 0 {
		if err := mandateRouter.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range mandateRouter.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// MandateRouterOwnershipTransferStarted represents a OwnershipTransferStarted event raised by the MandateRouter contract.
type MandateRouterOwnershipTransferStarted struct {
	PreviousOwner common.Address
	NewOwner      common.Address
	Raw           *types.Log // Blockchain specific contextual infos
}

const MandateRouterOwnershipTransferStartedEventName = "OwnershipTransferStarted"

// ContractEventName returns the user-defined event name.
func (MandateRouterOwnershipTransferStarted) ContractEventName() string {
	return MandateRouterOwnershipTransferStartedEventName
}

// UnpackOwnershipTransferStartedEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event OwnershipTransferStarted(address indexed previousOwner, address indexed newOwner)
func (mandateRouter *MandateRouter) UnpackOwnershipTransferStartedEvent(log *types.Log) (*MandateRouterOwnershipTransferStarted, error) {
	event := "OwnershipTransferStarted"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != mandateRouter.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(MandateRouterOwnershipTransferStarted)
	if len(log.Data) > 0 {
		if err := mandateRouter.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range mandateRouter.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// MandateRouterOwnershipTransferred represents a OwnershipTransferred event raised by the MandateRouter contract.
type MandateRouterOwnershipTransferred struct {
	PreviousOwner common.Address
	NewOwner      common.Address
	Raw           *types.Log // Blockchain specific contextual infos
}

const MandateRouterOwnershipTransferredEventName = "OwnershipTransferred"

// ContractEventName returns the user-defined event name.
func (MandateRouterOwnershipTransferred) ContractEventName() string {
	return MandateRouterOwnershipTransferredEventName
}

// UnpackOwnershipTransferredEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event OwnershipTransferred(address indexed previousOwner, address indexed newOwner)
func (mandateRouter *MandateRouter) UnpackOwnershipTransferredEvent(log *types.Log) (*MandateRouterOwnershipTransferred, error) {
	event := "OwnershipTransferred"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != mandateRouter.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(MandateRouterOwnershipTransferred)
	if len(log.Data) > 0 {
		if err := mandateRouter.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range mandateRouter.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// MandateRouterPaused represents a Paused event raised by the MandateRouter contract.
type MandateRouterPaused struct {
	Account common.Address
	Raw     *types.Log // Blockchain specific contextual infos
}

const MandateRouterPausedEventName = "Paused"

// ContractEventName returns the user-defined event name.
func (MandateRouterPaused) ContractEventName() string {
	return MandateRouterPausedEventName
}

// UnpackPausedEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event Paused(address account)
func (mandateRouter *MandateRouter) UnpackPausedEvent(log *types.Log) (*MandateRouterPaused, error) {
	event := "Paused"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != mandateRouter.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(MandateRouterPaused)
	if len(log.Data) > 0 {
		if err := mandateRouter.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range mandateRouter.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// MandateRouterUnpaused represents a Unpaused event raised by the MandateRouter contract.
type MandateRouterUnpaused struct {
	Account common.Address
	Raw     *types.Log // Blockchain specific contextual infos
}

const MandateRouterUnpausedEventName = "Unpaused"

// ContractEventName returns the user-defined event name.
func (MandateRouterUnpaused) ContractEventName() string {
	return MandateRouterUnpausedEventName
}

// UnpackUnpausedEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event Unpaused(address account)
func (mandateRouter *MandateRouter) UnpackUnpausedEvent(log *types.Log) (*MandateRouterUnpaused, error) {
	event := "Unpaused"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != mandateRouter.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(MandateRouterUnpaused)
	if len(log.Data) > 0 {
		if err := mandateRouter.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range mandateRouter.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// UnpackError attempts to decode the provided error data using user-defined
// error definitions.
func (mandateRouter *MandateRouter) UnpackError(raw []byte) (any, error) {
	if bytes.Equal(raw[:4], mandateRouter.abi.Errors["BadAmount"].ID.Bytes()[:4]) {
		return mandateRouter.UnpackBadAmountError(raw[4:])
	}
	if bytes.Equal(raw[:4], mandateRouter.abi.Errors["BadGrant"].ID.Bytes()[:4]) {
		return mandateRouter.UnpackBadGrantError(raw[4:])
	}
	if bytes.Equal(raw[:4], mandateRouter.abi.Errors["BadSignature"].ID.Bytes()[:4]) {
		return mandateRouter.UnpackBadSignatureError(raw[4:])
	}
	if bytes.Equal(raw[:4], mandateRouter.abi.Errors["CannotRenounce"].ID.Bytes()[:4]) {
		return mandateRouter.UnpackCannotRenounceError(raw[4:])
	}
	if bytes.Equal(raw[:4], mandateRouter.abi.Errors["DeadlinePassed"].ID.Bytes()[:4]) {
		return mandateRouter.UnpackDeadlinePassedError(raw[4:])
	}
	if bytes.Equal(raw[:4], mandateRouter.abi.Errors["EnforcedPause"].ID.Bytes()[:4]) {
		return mandateRouter.UnpackEnforcedPauseError(raw[4:])
	}
	if bytes.Equal(raw[:4], mandateRouter.abi.Errors["ExpectedPause"].ID.Bytes()[:4]) {
		return mandateRouter.UnpackExpectedPauseError(raw[4:])
	}
	if bytes.Equal(raw[:4], mandateRouter.abi.Errors["Expired"].ID.Bytes()[:4]) {
		return mandateRouter.UnpackExpiredError(raw[4:])
	}
	if bytes.Equal(raw[:4], mandateRouter.abi.Errors["GrantExists"].ID.Bytes()[:4]) {
		return mandateRouter.UnpackGrantExistsError(raw[4:])
	}
	if bytes.Equal(raw[:4], mandateRouter.abi.Errors["InvalidShortString"].ID.Bytes()[:4]) {
		return mandateRouter.UnpackInvalidShortStringError(raw[4:])
	}
	if bytes.Equal(raw[:4], mandateRouter.abi.Errors["NoGrant"].ID.Bytes()[:4]) {
		return mandateRouter.UnpackNoGrantError(raw[4:])
	}
	if bytes.Equal(raw[:4], mandateRouter.abi.Errors["NotOperator"].ID.Bytes()[:4]) {
		return mandateRouter.UnpackNotOperatorError(raw[4:])
	}
	if bytes.Equal(raw[:4], mandateRouter.abi.Errors["NotRevoker"].ID.Bytes()[:4]) {
		return mandateRouter.UnpackNotRevokerError(raw[4:])
	}
	if bytes.Equal(raw[:4], mandateRouter.abi.Errors["OverChargeCap"].ID.Bytes()[:4]) {
		return mandateRouter.UnpackOverChargeCapError(raw[4:])
	}
	if bytes.Equal(raw[:4], mandateRouter.abi.Errors["OverMonthCap"].ID.Bytes()[:4]) {
		return mandateRouter.UnpackOverMonthCapError(raw[4:])
	}
	if bytes.Equal(raw[:4], mandateRouter.abi.Errors["OwnableInvalidOwner"].ID.Bytes()[:4]) {
		return mandateRouter.UnpackOwnableInvalidOwnerError(raw[4:])
	}
	if bytes.Equal(raw[:4], mandateRouter.abi.Errors["OwnableUnauthorizedAccount"].ID.Bytes()[:4]) {
		return mandateRouter.UnpackOwnableUnauthorizedAccountError(raw[4:])
	}
	if bytes.Equal(raw[:4], mandateRouter.abi.Errors["PayeeNotAllowed"].ID.Bytes()[:4]) {
		return mandateRouter.UnpackPayeeNotAllowedError(raw[4:])
	}
	if bytes.Equal(raw[:4], mandateRouter.abi.Errors["RefReused"].ID.Bytes()[:4]) {
		return mandateRouter.UnpackRefReusedError(raw[4:])
	}
	if bytes.Equal(raw[:4], mandateRouter.abi.Errors["Revoked"].ID.Bytes()[:4]) {
		return mandateRouter.UnpackRevokedError(raw[4:])
	}
	if bytes.Equal(raw[:4], mandateRouter.abi.Errors["SafeERC20FailedOperation"].ID.Bytes()[:4]) {
		return mandateRouter.UnpackSafeERC20FailedOperationError(raw[4:])
	}
	if bytes.Equal(raw[:4], mandateRouter.abi.Errors["StringTooLong"].ID.Bytes()[:4]) {
		return mandateRouter.UnpackStringTooLongError(raw[4:])
	}
	return nil, errors.New("Unknown error")
}

// MandateRouterBadAmount represents a BadAmount error raised by the MandateRouter contract.
type MandateRouterBadAmount struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error BadAmount()
func MandateRouterBadAmountErrorID() common.Hash {
	return common.HexToHash("0x749b593924416ea8f46d8a8f5b89dfc2a554f6cc168b31407d6be5e73a078ac0")
}

// UnpackBadAmountError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error BadAmount()
func (mandateRouter *MandateRouter) UnpackBadAmountError(raw []byte) (*MandateRouterBadAmount, error) {
	out := new(MandateRouterBadAmount)
	if err := mandateRouter.abi.UnpackIntoInterface(out, "BadAmount", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MandateRouterBadGrant represents a BadGrant error raised by the MandateRouter contract.
type MandateRouterBadGrant struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error BadGrant()
func MandateRouterBadGrantErrorID() common.Hash {
	return common.HexToHash("0x09109e3d880795e73e06414a9dd229026a771b923db8047c1ee979f546c33f5f")
}

// UnpackBadGrantError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error BadGrant()
func (mandateRouter *MandateRouter) UnpackBadGrantError(raw []byte) (*MandateRouterBadGrant, error) {
	out := new(MandateRouterBadGrant)
	if err := mandateRouter.abi.UnpackIntoInterface(out, "BadGrant", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MandateRouterBadSignature represents a BadSignature error raised by the MandateRouter contract.
type MandateRouterBadSignature struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error BadSignature()
func MandateRouterBadSignatureErrorID() common.Hash {
	return common.HexToHash("0x5cd5d2335541c4f2ed05fbe44f397e8b79f8e2333157122d2dab06e378ef7685")
}

// UnpackBadSignatureError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error BadSignature()
func (mandateRouter *MandateRouter) UnpackBadSignatureError(raw []byte) (*MandateRouterBadSignature, error) {
	out := new(MandateRouterBadSignature)
	if err := mandateRouter.abi.UnpackIntoInterface(out, "BadSignature", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MandateRouterCannotRenounce represents a CannotRenounce error raised by the MandateRouter contract.
type MandateRouterCannotRenounce struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error CannotRenounce()
func MandateRouterCannotRenounceErrorID() common.Hash {
	return common.HexToHash("0xc5fea8988bc1c7cf3f626692eed60872f079f9a6bb64636ce336b353448636e4")
}

// UnpackCannotRenounceError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error CannotRenounce()
func (mandateRouter *MandateRouter) UnpackCannotRenounceError(raw []byte) (*MandateRouterCannotRenounce, error) {
	out := new(MandateRouterCannotRenounce)
	if err := mandateRouter.abi.UnpackIntoInterface(out, "CannotRenounce", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MandateRouterDeadlinePassed represents a DeadlinePassed error raised by the MandateRouter contract.
type MandateRouterDeadlinePassed struct {
	Deadline *big.Int
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error DeadlinePassed(uint256 deadline)
func MandateRouterDeadlinePassedErrorID() common.Hash {
	return common.HexToHash("0xbfb22adfe9d5fa2834e025e2832eac6acdb50f696427fd6da5e7d933cf7e8923")
}

// UnpackDeadlinePassedError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error DeadlinePassed(uint256 deadline)
func (mandateRouter *MandateRouter) UnpackDeadlinePassedError(raw []byte) (*MandateRouterDeadlinePassed, error) {
	out := new(MandateRouterDeadlinePassed)
	if err := mandateRouter.abi.UnpackIntoInterface(out, "DeadlinePassed", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MandateRouterEnforcedPause represents a EnforcedPause error raised by the MandateRouter contract.
type MandateRouterEnforcedPause struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error EnforcedPause()
func MandateRouterEnforcedPauseErrorID() common.Hash {
	return common.HexToHash("0xd93c0665d6c96d04a8f174024fc4ddd66c250604aff22bbec808de86dd3637e3")
}

// UnpackEnforcedPauseError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error EnforcedPause()
func (mandateRouter *MandateRouter) UnpackEnforcedPauseError(raw []byte) (*MandateRouterEnforcedPause, error) {
	out := new(MandateRouterEnforcedPause)
	if err := mandateRouter.abi.UnpackIntoInterface(out, "EnforcedPause", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MandateRouterExpectedPause represents a ExpectedPause error raised by the MandateRouter contract.
type MandateRouterExpectedPause struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error ExpectedPause()
func MandateRouterExpectedPauseErrorID() common.Hash {
	return common.HexToHash("0x8dfc202bcfe9a735b559bee70674422512bc5c30f687046ae8778315fb81da44")
}

// UnpackExpectedPauseError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error ExpectedPause()
func (mandateRouter *MandateRouter) UnpackExpectedPauseError(raw []byte) (*MandateRouterExpectedPause, error) {
	out := new(MandateRouterExpectedPause)
	if err := mandateRouter.abi.UnpackIntoInterface(out, "ExpectedPause", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MandateRouterExpired represents a Expired error raised by the MandateRouter contract.
type MandateRouterExpired struct {
	GrantId [32]byte
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Expired(bytes32 grantId)
func MandateRouterExpiredErrorID() common.Hash {
	return common.HexToHash("0x3077f64f92ad91c6479071531304fa3c1e0bb9b63e130c746f3a564292f0ddc6")
}

// UnpackExpiredError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Expired(bytes32 grantId)
func (mandateRouter *MandateRouter) UnpackExpiredError(raw []byte) (*MandateRouterExpired, error) {
	out := new(MandateRouterExpired)
	if err := mandateRouter.abi.UnpackIntoInterface(out, "Expired", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MandateRouterGrantExists represents a GrantExists error raised by the MandateRouter contract.
type MandateRouterGrantExists struct {
	GrantId [32]byte
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error GrantExists(bytes32 grantId)
func MandateRouterGrantExistsErrorID() common.Hash {
	return common.HexToHash("0xc9a8eb28a7ffea27c8fbf213220c481cacbaaa3d2aa2b3478fb63cad06aa5ef6")
}

// UnpackGrantExistsError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error GrantExists(bytes32 grantId)
func (mandateRouter *MandateRouter) UnpackGrantExistsError(raw []byte) (*MandateRouterGrantExists, error) {
	out := new(MandateRouterGrantExists)
	if err := mandateRouter.abi.UnpackIntoInterface(out, "GrantExists", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MandateRouterInvalidShortString represents a InvalidShortString error raised by the MandateRouter contract.
type MandateRouterInvalidShortString struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error InvalidShortString()
func MandateRouterInvalidShortStringErrorID() common.Hash {
	return common.HexToHash("0xb3512b0c6163e5f0bafab72bb631b9d58cd7a731b082f910338aa21c83d5c274")
}

// UnpackInvalidShortStringError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error InvalidShortString()
func (mandateRouter *MandateRouter) UnpackInvalidShortStringError(raw []byte) (*MandateRouterInvalidShortString, error) {
	out := new(MandateRouterInvalidShortString)
	if err := mandateRouter.abi.UnpackIntoInterface(out, "InvalidShortString", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MandateRouterNoGrant represents a NoGrant error raised by the MandateRouter contract.
type MandateRouterNoGrant struct {
	GrantId [32]byte
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error NoGrant(bytes32 grantId)
func MandateRouterNoGrantErrorID() common.Hash {
	return common.HexToHash("0x28d71ab0a5ea8b812c70e144f18203bb9e8853d2233981a9a160dd63afa06531")
}

// UnpackNoGrantError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error NoGrant(bytes32 grantId)
func (mandateRouter *MandateRouter) UnpackNoGrantError(raw []byte) (*MandateRouterNoGrant, error) {
	out := new(MandateRouterNoGrant)
	if err := mandateRouter.abi.UnpackIntoInterface(out, "NoGrant", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MandateRouterNotOperator represents a NotOperator error raised by the MandateRouter contract.
type MandateRouterNotOperator struct {
	Caller common.Address
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error NotOperator(address caller)
func MandateRouterNotOperatorErrorID() common.Hash {
	return common.HexToHash("0x76c6c93a6423c7e2cef5f93921b1d4d1a5ffb795cd7cfed2df95566b7c7f7c40")
}

// UnpackNotOperatorError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error NotOperator(address caller)
func (mandateRouter *MandateRouter) UnpackNotOperatorError(raw []byte) (*MandateRouterNotOperator, error) {
	out := new(MandateRouterNotOperator)
	if err := mandateRouter.abi.UnpackIntoInterface(out, "NotOperator", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MandateRouterNotRevoker represents a NotRevoker error raised by the MandateRouter contract.
type MandateRouterNotRevoker struct {
	Caller common.Address
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error NotRevoker(address caller)
func MandateRouterNotRevokerErrorID() common.Hash {
	return common.HexToHash("0x5a4c7a3bf565fcd2af761264ab839c2ddc5d0178e9f63230fb9d4e8cb34ed2e4")
}

// UnpackNotRevokerError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error NotRevoker(address caller)
func (mandateRouter *MandateRouter) UnpackNotRevokerError(raw []byte) (*MandateRouterNotRevoker, error) {
	out := new(MandateRouterNotRevoker)
	if err := mandateRouter.abi.UnpackIntoInterface(out, "NotRevoker", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MandateRouterOverChargeCap represents a OverChargeCap error raised by the MandateRouter contract.
type MandateRouterOverChargeCap struct {
	Amount *big.Int
	Cap    *big.Int
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error OverChargeCap(uint256 amount, uint256 cap)
func MandateRouterOverChargeCapErrorID() common.Hash {
	return common.HexToHash("0x538f49d1ead78db2f07eb1dc2e0fcb3f0c7ae812b3d01a2e716a7f650d21f0e7")
}

// UnpackOverChargeCapError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error OverChargeCap(uint256 amount, uint256 cap)
func (mandateRouter *MandateRouter) UnpackOverChargeCapError(raw []byte) (*MandateRouterOverChargeCap, error) {
	out := new(MandateRouterOverChargeCap)
	if err := mandateRouter.abi.UnpackIntoInterface(out, "OverChargeCap", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MandateRouterOverMonthCap represents a OverMonthCap error raised by the MandateRouter contract.
type MandateRouterOverMonthCap struct {
	Amount *big.Int
	Left   *big.Int
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error OverMonthCap(uint256 amount, uint256 left)
func MandateRouterOverMonthCapErrorID() common.Hash {
	return common.HexToHash("0xbd32be4db3f256bd3367e8fcd3f83b478dfac9c2fdc317924b66c0e5ca1262a8")
}

// UnpackOverMonthCapError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error OverMonthCap(uint256 amount, uint256 left)
func (mandateRouter *MandateRouter) UnpackOverMonthCapError(raw []byte) (*MandateRouterOverMonthCap, error) {
	out := new(MandateRouterOverMonthCap)
	if err := mandateRouter.abi.UnpackIntoInterface(out, "OverMonthCap", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MandateRouterOwnableInvalidOwner represents a OwnableInvalidOwner error raised by the MandateRouter contract.
type MandateRouterOwnableInvalidOwner struct {
	Owner common.Address
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error OwnableInvalidOwner(address owner)
func MandateRouterOwnableInvalidOwnerErrorID() common.Hash {
	return common.HexToHash("0x1e4fbdf7f3ef8bcaa855599e3abf48b232380f183f08f6f813d9ffa5bd585188")
}

// UnpackOwnableInvalidOwnerError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error OwnableInvalidOwner(address owner)
func (mandateRouter *MandateRouter) UnpackOwnableInvalidOwnerError(raw []byte) (*MandateRouterOwnableInvalidOwner, error) {
	out := new(MandateRouterOwnableInvalidOwner)
	if err := mandateRouter.abi.UnpackIntoInterface(out, "OwnableInvalidOwner", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MandateRouterOwnableUnauthorizedAccount represents a OwnableUnauthorizedAccount error raised by the MandateRouter contract.
type MandateRouterOwnableUnauthorizedAccount struct {
	Account common.Address
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error OwnableUnauthorizedAccount(address account)
func MandateRouterOwnableUnauthorizedAccountErrorID() common.Hash {
	return common.HexToHash("0x118cdaa7a341953d1887a2245fd6665d741c67c8c50581daa59e1d03373fa188")
}

// UnpackOwnableUnauthorizedAccountError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error OwnableUnauthorizedAccount(address account)
func (mandateRouter *MandateRouter) UnpackOwnableUnauthorizedAccountError(raw []byte) (*MandateRouterOwnableUnauthorizedAccount, error) {
	out := new(MandateRouterOwnableUnauthorizedAccount)
	if err := mandateRouter.abi.UnpackIntoInterface(out, "OwnableUnauthorizedAccount", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MandateRouterPayeeNotAllowed represents a PayeeNotAllowed error raised by the MandateRouter contract.
type MandateRouterPayeeNotAllowed struct {
	Payee common.Address
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error PayeeNotAllowed(address payee)
func MandateRouterPayeeNotAllowedErrorID() common.Hash {
	return common.HexToHash("0xbc2f3a3fb4182e2bbe5a845dfad5d06a181b1974ef0454e1fcedb3fabdfdde73")
}

// UnpackPayeeNotAllowedError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error PayeeNotAllowed(address payee)
func (mandateRouter *MandateRouter) UnpackPayeeNotAllowedError(raw []byte) (*MandateRouterPayeeNotAllowed, error) {
	out := new(MandateRouterPayeeNotAllowed)
	if err := mandateRouter.abi.UnpackIntoInterface(out, "PayeeNotAllowed", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MandateRouterRefReused represents a RefReused error raised by the MandateRouter contract.
type MandateRouterRefReused struct {
	Ref [32]byte
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error RefReused(bytes32 ref)
func MandateRouterRefReusedErrorID() common.Hash {
	return common.HexToHash("0xebe68d4885bdde2c9e9ea89f93493285cccfa22f7b22f68a124951aa4bdf1c5c")
}

// UnpackRefReusedError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error RefReused(bytes32 ref)
func (mandateRouter *MandateRouter) UnpackRefReusedError(raw []byte) (*MandateRouterRefReused, error) {
	out := new(MandateRouterRefReused)
	if err := mandateRouter.abi.UnpackIntoInterface(out, "RefReused", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MandateRouterRevoked represents a Revoked error raised by the MandateRouter contract.
type MandateRouterRevoked struct {
	GrantId [32]byte
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error Revoked(bytes32 grantId)
func MandateRouterRevokedErrorID() common.Hash {
	return common.HexToHash("0xe5af7daed5ab2a2dc5f98d53619f05089c0c14d11a6621f6b906a2366c9a7ab3")
}

// UnpackRevokedError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error Revoked(bytes32 grantId)
func (mandateRouter *MandateRouter) UnpackRevokedError(raw []byte) (*MandateRouterRevoked, error) {
	out := new(MandateRouterRevoked)
	if err := mandateRouter.abi.UnpackIntoInterface(out, "Revoked", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MandateRouterSafeERC20FailedOperation represents a SafeERC20FailedOperation error raised by the MandateRouter contract.
type MandateRouterSafeERC20FailedOperation struct {
	Token common.Address
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error SafeERC20FailedOperation(address token)
func MandateRouterSafeERC20FailedOperationErrorID() common.Hash {
	return common.HexToHash("0x5274afe73c98b4749fc91ffae6b7b574e7842cb2144a159e9377a5f20b32edf9")
}

// UnpackSafeERC20FailedOperationError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error SafeERC20FailedOperation(address token)
func (mandateRouter *MandateRouter) UnpackSafeERC20FailedOperationError(raw []byte) (*MandateRouterSafeERC20FailedOperation, error) {
	out := new(MandateRouterSafeERC20FailedOperation)
	if err := mandateRouter.abi.UnpackIntoInterface(out, "SafeERC20FailedOperation", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MandateRouterStringTooLong represents a StringTooLong error raised by the MandateRouter contract.
type MandateRouterStringTooLong struct {
	Str string
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error StringTooLong(string str)
func MandateRouterStringTooLongErrorID() common.Hash {
	return common.HexToHash("0x305a27a93f8e33b7392df0a0f91d6fc63847395853c45991eec52dbf24d72381")
}

// UnpackStringTooLongError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error StringTooLong(string str)
func (mandateRouter *MandateRouter) UnpackStringTooLongError(raw []byte) (*MandateRouterStringTooLong, error) {
	out := new(MandateRouterStringTooLong)
	if err := mandateRouter.abi.UnpackIntoInterface(out, "StringTooLong", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// TestPermit2MetaData contains all meta data concerning the TestPermit2 contract.
var TestPermit2MetaData = bind.MetaData{
	ABI: "[{\"inputs\":[],\"name\":\"ECDSAInvalidSignature\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint256\",\"name\":\"length\",\"type\":\"uint256\"}],\"name\":\"ECDSAInvalidSignatureLength\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"s\",\"type\":\"bytes32\"}],\"name\":\"ECDSAInvalidSignatureS\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint256\",\"name\":\"maxAmount\",\"type\":\"uint256\"}],\"name\":\"InvalidAmount\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"InvalidContractSignature\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"InvalidNonce\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"InvalidSigner\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"token\",\"type\":\"address\"}],\"name\":\"SafeERC20FailedOperation\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint256\",\"name\":\"signatureDeadline\",\"type\":\"uint256\"}],\"name\":\"SignatureExpired\",\"type\":\"error\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"address\",\"name\":\"owner\",\"type\":\"address\"},{\"indexed\":false,\"internalType\":\"uint256\",\"name\":\"word\",\"type\":\"uint256\"},{\"indexed\":false,\"internalType\":\"uint256\",\"name\":\"mask\",\"type\":\"uint256\"}],\"name\":\"UnorderedNonceInvalidation\",\"type\":\"event\"},{\"inputs\":[],\"name\":\"DOMAIN_SEPARATOR\",\"outputs\":[{\"internalType\":\"bytes32\",\"name\":\"\",\"type\":\"bytes32\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"uint256\",\"name\":\"wordPos\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"mask\",\"type\":\"uint256\"}],\"name\":\"invalidateUnorderedNonces\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"owner\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"word\",\"type\":\"uint256\"}],\"name\":\"nonceBitmap\",\"outputs\":[{\"internalType\":\"uint256\",\"name\":\"\",\"type\":\"uint256\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"components\":[{\"components\":[{\"internalType\":\"address\",\"name\":\"token\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"amount\",\"type\":\"uint256\"}],\"internalType\":\"structTestPermit2.TokenPermissions\",\"name\":\"permitted\",\"type\":\"tuple\"},{\"internalType\":\"uint256\",\"name\":\"nonce\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"deadline\",\"type\":\"uint256\"}],\"internalType\":\"structTestPermit2.PermitTransferFrom\",\"name\":\"permit\",\"type\":\"tuple\"},{\"components\":[{\"internalType\":\"address\",\"name\":\"to\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"requestedAmount\",\"type\":\"uint256\"}],\"internalType\":\"structTestPermit2.SignatureTransferDetails\",\"name\":\"transferDetails\",\"type\":\"tuple\"},{\"internalType\":\"address\",\"name\":\"owner\",\"type\":\"address\"},{\"internalType\":\"bytes32\",\"name\":\"witness\",\"type\":\"bytes32\"},{\"internalType\":\"string\",\"name\":\"witnessTypeString\",\"type\":\"string\"},{\"internalType\":\"bytes\",\"name\":\"signature\",\"type\":\"bytes\"}],\"name\":\"permitWitnessTransferFrom\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"}]",
	ID:  "TestPermit2",
	Bin: "0x6080604052348015600e575f5ffd5b50610d408061001c5f395ff3fe608060405234801561000f575f5ffd5b506004361061004a575f3560e01c8063137c29fe1461004e5780633644e515146100635780633ff9dcb1146100f65780634fe02b4414610109575b5f5ffd5b61006161005c366004610ab6565b610130565b005b6100e4604080517f8cad95687ba82c2ce50e74f7b754645e5117c3a5bec8151c0726d5857980a86660208201527f9ac997416e8ff9d2ff6bebeb7149f65cdae5e32e2b90440b566bb3044041d36a918101919091524660608201523060808201525f9060a00160405160208183030381529060405280519060200120905090565b60405190815260200160405180910390f35b610061610104366004610b90565b610232565b6100e4610117366004610bb0565b5f60208181529281526040808220909352908152205481565b8760600135421115610179576040517fcd21db4f000000000000000000000000000000000000000000000000000000008152606089013560048201526024015b60405180910390fd5b6020808901359088013511156101c1576040517f3728b83d00000000000000000000000000000000000000000000000000000000815260208901356004820152602401610170565b6101cf86896040013561028a565b6101e6866101df8a888888610339565b8484610533565b610228866101f760208a018a610bd8565b6020808b01359061020a908d018d610bd8565b73ffffffffffffffffffffffffffffffffffffffff169291906106ef565b5050505050505050565b335f8181526020818152604080832086845282529182902080548517905581518581529081018490527f3704902f963766a4e561bbaab6e6cdc1b1dd12f6e9e99648da8843b3f46b918d910160405180910390a25050565b73ffffffffffffffffffffffffffffffffffffffff82165f90815260208181526040808320600885901c8452909152902054600160ff83161b90808216156102fe576040517f756688fe00000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b73ffffffffffffffffffffffffffffffffffffffff9093165f9081526020818152604080832060089590951c83529390529190912091179055565b5f807f618358ac3db8dc274f0cd8829da7e234bd48cd73c4a740aede1adec9846d06a16103696020880188610bd8565b6040805160208082019490945273ffffffffffffffffffffffffffffffffffffffff909216908201529087013560608201526080016040516020818303038152906040528051906020012090505f6040518060a0016040528060648152602001610cdc6064913985856040516020016103e493929190610bf8565b604080518083037fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe0018152828252805160209182012090830181905282820185905233606080850191909152918a013560808401529089013560a083015260c0820188905291505f9060e0016040516020818303038152906040528051906020012090506105276104ec604080517f8cad95687ba82c2ce50e74f7b754645e5117c3a5bec8151c0726d5857980a86660208201527f9ac997416e8ff9d2ff6bebeb7149f65cdae5e32e2b90440b566bb3044041d36a918101919091524660608201523060808201525f9060a00160405160208183030381529060405280519060200120905090565b826040517f19010000000000000000000000000000000000000000000000000000000000008152600281019290925260228201526042902090565b98975050505050505050565b8373ffffffffffffffffffffffffffffffffffffffff163b5f036105f9578373ffffffffffffffffffffffffffffffffffffffff166105a78484848080601f0160208091040260200160405190810160405280939291908181526020018383808284375f9201919091525061074b92505050565b73ffffffffffffffffffffffffffffffffffffffff16146105f4576040517f815e1d6400000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b6106e9565b6040517f1626ba7e000000000000000000000000000000000000000000000000000000008082529073ffffffffffffffffffffffffffffffffffffffff861690631626ba7e9061065190879087908790600401610c1c565b602060405180830381865afa15801561066c573d5f5f3e3d5ffd5b505050506040513d601f19601f820116820180604052508101906106909190610c6f565b7fffffffff0000000000000000000000000000000000000000000000000000000016146106e9576040517fb0669cbc00000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b50505050565b6106fd848484846001610773565b6106e9576040517f5274afe700000000000000000000000000000000000000000000000000000000815273ffffffffffffffffffffffffffffffffffffffff85166004820152602401610170565b5f5f5f5f6107598686610806565b925092509250610769828261084f565b5090949350505050565b6040517f23b872dd000000000000000000000000000000000000000000000000000000005f81815273ffffffffffffffffffffffffffffffffffffffff8781166004528616602452604485905291602083606481808c5af1925060015f511483166107f55783831516156107e9573d5f823e3d81fd5b5f883b113d1516831692505b604052505f60605295945050505050565b5f5f5f835160410361083d576020840151604085015160608601515f1a61082f88828585610956565b955095509550505050610848565b505081515f91506002905b9250925092565b5f82600381111561086257610862610cae565b0361086b575050565b600182600381111561087f5761087f610cae565b036108b6576040517ff645eedf00000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b60028260038111156108ca576108ca610cae565b03610904576040517ffce698f700000000000000000000000000000000000000000000000000000000815260048101829052602401610170565b600382600381111561091857610918610cae565b03610952576040517fd78bce0c00000000000000000000000000000000000000000000000000000000815260048101829052602401610170565b5050565b5f80807f7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a084111561098f57505f91506003905082610a3f565b604080515f808252602082018084528a905260ff891692820192909252606081018790526080810186905260019060a0016020604051602081039080840390855afa1580156109e0573d5f5f3e3d5ffd5b50506040517fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe0015191505073ffffffffffffffffffffffffffffffffffffffff8116610a3657505f925060019150829050610a3f565b92505f91508190505b9450945094915050565b803573ffffffffffffffffffffffffffffffffffffffff81168114610a6c575f5ffd5b919050565b5f5f83601f840112610a81575f5ffd5b50813567ffffffffffffffff811115610a98575f5ffd5b602083019150836020828501011115610aaf575f5ffd5b9250929050565b5f5f5f5f5f5f5f5f888a03610140811215610acf575f5ffd5b6080811215610adc575f5ffd5b89985060407fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff8082011215610b0e575f5ffd5b50608089019650610b2160c08a01610a49565b955060e0890135945061010089013567ffffffffffffffff811115610b44575f5ffd5b610b508b828c01610a71565b90955093505061012089013567ffffffffffffffff811115610b70575f5ffd5b610b7c8b828c01610a71565b999c989b5096995094979396929594505050565b5f5f60408385031215610ba1575f5ffd5b50508035926020909101359150565b5f5f60408385031215610bc1575f5ffd5b610bca83610a49565b946020939093013593505050565b5f60208284031215610be8575f5ffd5b610bf182610a49565b9392505050565b5f84518060208701845e5f908301908152838582375f930192835250909392505050565b83815260406020820152816040820152818360608301375f818301606090810191909152601f9092017fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe016010192915050565b5f60208284031215610c7f575f5ffd5b81517fffffffff0000000000000000000000000000000000000000000000000000000081168114610bf1575f5ffd5b7f4e487b71000000000000000000000000000000000000000000000000000000005f52602160045260245ffdfe5065726d69745769746e6573735472616e7366657246726f6d28546f6b656e5065726d697373696f6e73207065726d69747465642c61646472657373207370656e6465722c75696e74323536206e6f6e63652c75696e7432353620646561646c696e652c",
}

// TestPermit2 is an auto generated Go binding around an Ethereum contract.
type TestPermit2 struct {
	abi abi.ABI
}

// GetABI returns the ABI associated with this contract binding.
func (c *TestPermit2) GetABI() abi.ABI {
	return c.abi
}

// NewTestPermit2 creates a new instance of TestPermit2.
func NewTestPermit2() *TestPermit2 {
	parsed, err := TestPermit2MetaData.ParseABI()
	if err != nil {
		panic(errors.New("invalid ABI: " + err.Error()))
	}
	return &TestPermit2{abi: *parsed}
}

// Instance creates a wrapper for a deployed contract instance at the given address.
// Use this to create the instance object passed to abigen v2 library functions Call, Transact, etc.
func (c *TestPermit2) Instance(backend bind.ContractBackend, addr common.Address) *bind.BoundContract {
	return bind.NewBoundContract(addr, c.abi, backend, backend, backend)
}

// PackDOMAINSEPARATOR is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x3644e515.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function DOMAIN_SEPARATOR() view returns(bytes32)
func (testPermit2 *TestPermit2) PackDOMAINSEPARATOR() []byte {
	enc, err := testPermit2.abi.Pack("DOMAIN_SEPARATOR")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackDOMAINSEPARATOR is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x3644e515.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function DOMAIN_SEPARATOR() view returns(bytes32)
func (testPermit2 *TestPermit2) TryPackDOMAINSEPARATOR() ([]byte, error) {
	return testPermit2.abi.Pack("DOMAIN_SEPARATOR")
}

// UnpackDOMAINSEPARATOR is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x3644e515.
//
// Solidity: function DOMAIN_SEPARATOR() view returns(bytes32)
func (testPermit2 *TestPermit2) UnpackDOMAINSEPARATOR(data []byte) ([32]byte, error) {
	out, err := testPermit2.abi.Unpack("DOMAIN_SEPARATOR", data)
	if err != nil {
		return *new([32]byte), err
	}
	out0 := *abi.ConvertType(out[0], new([32]byte)).(*[32]byte)
	return out0, nil
}

// PackInvalidateUnorderedNonces is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x3ff9dcb1.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function invalidateUnorderedNonces(uint256 wordPos, uint256 mask) returns()
func (testPermit2 *TestPermit2) PackInvalidateUnorderedNonces(wordPos *big.Int, mask *big.Int) []byte {
	enc, err := testPermit2.abi.Pack("invalidateUnorderedNonces", wordPos, mask)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackInvalidateUnorderedNonces is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x3ff9dcb1.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function invalidateUnorderedNonces(uint256 wordPos, uint256 mask) returns()
func (testPermit2 *TestPermit2) TryPackInvalidateUnorderedNonces(wordPos *big.Int, mask *big.Int) ([]byte, error) {
	return testPermit2.abi.Pack("invalidateUnorderedNonces", wordPos, mask)
}

// PackNonceBitmap is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x4fe02b44.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function nonceBitmap(address owner, uint256 word) view returns(uint256)
func (testPermit2 *TestPermit2) PackNonceBitmap(owner common.Address, word *big.Int) []byte {
	enc, err := testPermit2.abi.Pack("nonceBitmap", owner, word)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackNonceBitmap is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x4fe02b44.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function nonceBitmap(address owner, uint256 word) view returns(uint256)
func (testPermit2 *TestPermit2) TryPackNonceBitmap(owner common.Address, word *big.Int) ([]byte, error) {
	return testPermit2.abi.Pack("nonceBitmap", owner, word)
}

// UnpackNonceBitmap is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x4fe02b44.
//
// Solidity: function nonceBitmap(address owner, uint256 word) view returns(uint256)
func (testPermit2 *TestPermit2) UnpackNonceBitmap(data []byte) (*big.Int, error) {
	out, err := testPermit2.abi.Unpack("nonceBitmap", data)
	if err != nil {
		return new(big.Int), err
	}
	out0 := abi.ConvertType(out[0], new(big.Int)).(*big.Int)
	return out0, nil
}

// PackPermitWitnessTransferFrom is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x137c29fe.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function permitWitnessTransferFrom(((address,uint256),uint256,uint256) permit, (address,uint256) transferDetails, address owner, bytes32 witness, string witnessTypeString, bytes signature) returns()
func (testPermit2 *TestPermit2) PackPermitWitnessTransferFrom(permit TestPermit2PermitTransferFrom, transferDetails TestPermit2SignatureTransferDetails, owner common.Address, witness [32]byte, witnessTypeString string, signature []byte) []byte {
	enc, err := testPermit2.abi.Pack("permitWitnessTransferFrom", permit, transferDetails, owner, witness, witnessTypeString, signature)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackPermitWitnessTransferFrom is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x137c29fe.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function permitWitnessTransferFrom(((address,uint256),uint256,uint256) permit, (address,uint256) transferDetails, address owner, bytes32 witness, string witnessTypeString, bytes signature) returns()
func (testPermit2 *TestPermit2) TryPackPermitWitnessTransferFrom(permit TestPermit2PermitTransferFrom, transferDetails TestPermit2SignatureTransferDetails, owner common.Address, witness [32]byte, witnessTypeString string, signature []byte) ([]byte, error) {
	return testPermit2.abi.Pack("permitWitnessTransferFrom", permit, transferDetails, owner, witness, witnessTypeString, signature)
}

// TestPermit2UnorderedNonceInvalidation represents a UnorderedNonceInvalidation event raised by the TestPermit2 contract.
type TestPermit2UnorderedNonceInvalidation struct {
	Owner common.Address
	Word  *big.Int
	Mask  *big.Int
	Raw   *types.Log // Blockchain specific contextual infos
}

const TestPermit2UnorderedNonceInvalidationEventName = "UnorderedNonceInvalidation"

// ContractEventName returns the user-defined event name.
func (TestPermit2UnorderedNonceInvalidation) ContractEventName() string {
	return TestPermit2UnorderedNonceInvalidationEventName
}

// UnpackUnorderedNonceInvalidationEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event UnorderedNonceInvalidation(address indexed owner, uint256 word, uint256 mask)
func (testPermit2 *TestPermit2) UnpackUnorderedNonceInvalidationEvent(log *types.Log) (*TestPermit2UnorderedNonceInvalidation, error) {
	event := "UnorderedNonceInvalidation"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != testPermit2.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(TestPermit2UnorderedNonceInvalidation)
	if len(log.Data) > 0 {
		if err := testPermit2.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range testPermit2.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// UnpackError attempts to decode the provided error data using user-defined
// error definitions.
func (testPermit2 *TestPermit2) UnpackError(raw []byte) (any, error) {
	if bytes.Equal(raw[:4], testPermit2.abi.Errors["ECDSAInvalidSignature"].ID.Bytes()[:4]) {
		return testPermit2.UnpackECDSAInvalidSignatureError(raw[4:])
	}
	if bytes.Equal(raw[:4], testPermit2.abi.Errors["ECDSAInvalidSignatureLength"].ID.Bytes()[:4]) {
		return testPermit2.UnpackECDSAInvalidSignatureLengthError(raw[4:])
	}
	if bytes.Equal(raw[:4], testPermit2.abi.Errors["ECDSAInvalidSignatureS"].ID.Bytes()[:4]) {
		return testPermit2.UnpackECDSAInvalidSignatureSError(raw[4:])
	}
	if bytes.Equal(raw[:4], testPermit2.abi.Errors["InvalidAmount"].ID.Bytes()[:4]) {
		return testPermit2.UnpackInvalidAmountError(raw[4:])
	}
	if bytes.Equal(raw[:4], testPermit2.abi.Errors["InvalidContractSignature"].ID.Bytes()[:4]) {
		return testPermit2.UnpackInvalidContractSignatureError(raw[4:])
	}
	if bytes.Equal(raw[:4], testPermit2.abi.Errors["InvalidNonce"].ID.Bytes()[:4]) {
		return testPermit2.UnpackInvalidNonceError(raw[4:])
	}
	if bytes.Equal(raw[:4], testPermit2.abi.Errors["InvalidSigner"].ID.Bytes()[:4]) {
		return testPermit2.UnpackInvalidSignerError(raw[4:])
	}
	if bytes.Equal(raw[:4], testPermit2.abi.Errors["SafeERC20FailedOperation"].ID.Bytes()[:4]) {
		return testPermit2.UnpackSafeERC20FailedOperationError(raw[4:])
	}
	if bytes.Equal(raw[:4], testPermit2.abi.Errors["SignatureExpired"].ID.Bytes()[:4]) {
		return testPermit2.UnpackSignatureExpiredError(raw[4:])
	}
	return nil, errors.New("Unknown error")
}

// TestPermit2ECDSAInvalidSignature represents a ECDSAInvalidSignature error raised by the TestPermit2 contract.
type TestPermit2ECDSAInvalidSignature struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error ECDSAInvalidSignature()
func TestPermit2ECDSAInvalidSignatureErrorID() common.Hash {
	return common.HexToHash("0xf645eedf0193584640b6b90cb9477e4c95b98636c148a891d4c0a146dc46e75a")
}

// UnpackECDSAInvalidSignatureError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error ECDSAInvalidSignature()
func (testPermit2 *TestPermit2) UnpackECDSAInvalidSignatureError(raw []byte) (*TestPermit2ECDSAInvalidSignature, error) {
	out := new(TestPermit2ECDSAInvalidSignature)
	if err := testPermit2.abi.UnpackIntoInterface(out, "ECDSAInvalidSignature", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// TestPermit2ECDSAInvalidSignatureLength represents a ECDSAInvalidSignatureLength error raised by the TestPermit2 contract.
type TestPermit2ECDSAInvalidSignatureLength struct {
	Length *big.Int
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error ECDSAInvalidSignatureLength(uint256 length)
func TestPermit2ECDSAInvalidSignatureLengthErrorID() common.Hash {
	return common.HexToHash("0xfce698f7e8e5342cd615f641317bc45fe7e1e4a8b0a14dd1383ff8dc9c41917f")
}

// UnpackECDSAInvalidSignatureLengthError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error ECDSAInvalidSignatureLength(uint256 length)
func (testPermit2 *TestPermit2) UnpackECDSAInvalidSignatureLengthError(raw []byte) (*TestPermit2ECDSAInvalidSignatureLength, error) {
	out := new(TestPermit2ECDSAInvalidSignatureLength)
	if err := testPermit2.abi.UnpackIntoInterface(out, "ECDSAInvalidSignatureLength", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// TestPermit2ECDSAInvalidSignatureS represents a ECDSAInvalidSignatureS error raised by the TestPermit2 contract.
type TestPermit2ECDSAInvalidSignatureS struct {
	S [32]byte
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error ECDSAInvalidSignatureS(bytes32 s)
func TestPermit2ECDSAInvalidSignatureSErrorID() common.Hash {
	return common.HexToHash("0xd78bce0cccb935155ed6428d1c13e50b7f3550fd2b66b9fe266006fea4a5e1eb")
}

// UnpackECDSAInvalidSignatureSError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error ECDSAInvalidSignatureS(bytes32 s)
func (testPermit2 *TestPermit2) UnpackECDSAInvalidSignatureSError(raw []byte) (*TestPermit2ECDSAInvalidSignatureS, error) {
	out := new(TestPermit2ECDSAInvalidSignatureS)
	if err := testPermit2.abi.UnpackIntoInterface(out, "ECDSAInvalidSignatureS", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// TestPermit2InvalidAmount represents a InvalidAmount error raised by the TestPermit2 contract.
type TestPermit2InvalidAmount struct {
	MaxAmount *big.Int
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error InvalidAmount(uint256 maxAmount)
func TestPermit2InvalidAmountErrorID() common.Hash {
	return common.HexToHash("0x3728b83da61d63401ac13ad617e59d729e6cb5ed67c24fa9dc4e9b626307fd6e")
}

// UnpackInvalidAmountError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error InvalidAmount(uint256 maxAmount)
func (testPermit2 *TestPermit2) UnpackInvalidAmountError(raw []byte) (*TestPermit2InvalidAmount, error) {
	out := new(TestPermit2InvalidAmount)
	if err := testPermit2.abi.UnpackIntoInterface(out, "InvalidAmount", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// TestPermit2InvalidContractSignature represents a InvalidContractSignature error raised by the TestPermit2 contract.
type TestPermit2InvalidContractSignature struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error InvalidContractSignature()
func TestPermit2InvalidContractSignatureErrorID() common.Hash {
	return common.HexToHash("0xb0669cbc44dcc813760e2b75f75ec6b5f9f11c5a9277f3ad2e7a63052ae97f7a")
}

// UnpackInvalidContractSignatureError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error InvalidContractSignature()
func (testPermit2 *TestPermit2) UnpackInvalidContractSignatureError(raw []byte) (*TestPermit2InvalidContractSignature, error) {
	out := new(TestPermit2InvalidContractSignature)
	if err := testPermit2.abi.UnpackIntoInterface(out, "InvalidContractSignature", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// TestPermit2InvalidNonce represents a InvalidNonce error raised by the TestPermit2 contract.
type TestPermit2InvalidNonce struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error InvalidNonce()
func TestPermit2InvalidNonceErrorID() common.Hash {
	return common.HexToHash("0x756688fec2871909d72599c334b663ffcc94654c438569966c7fd3ab3a351f34")
}

// UnpackInvalidNonceError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error InvalidNonce()
func (testPermit2 *TestPermit2) UnpackInvalidNonceError(raw []byte) (*TestPermit2InvalidNonce, error) {
	out := new(TestPermit2InvalidNonce)
	if err := testPermit2.abi.UnpackIntoInterface(out, "InvalidNonce", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// TestPermit2InvalidSigner represents a InvalidSigner error raised by the TestPermit2 contract.
type TestPermit2InvalidSigner struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error InvalidSigner()
func TestPermit2InvalidSignerErrorID() common.Hash {
	return common.HexToHash("0x815e1d64efb74fbe314c20a2b8a2335d18bce12a19165e447fa36bcb35959528")
}

// UnpackInvalidSignerError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error InvalidSigner()
func (testPermit2 *TestPermit2) UnpackInvalidSignerError(raw []byte) (*TestPermit2InvalidSigner, error) {
	out := new(TestPermit2InvalidSigner)
	if err := testPermit2.abi.UnpackIntoInterface(out, "InvalidSigner", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// TestPermit2SafeERC20FailedOperation represents a SafeERC20FailedOperation error raised by the TestPermit2 contract.
type TestPermit2SafeERC20FailedOperation struct {
	Token common.Address
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error SafeERC20FailedOperation(address token)
func TestPermit2SafeERC20FailedOperationErrorID() common.Hash {
	return common.HexToHash("0x5274afe73c98b4749fc91ffae6b7b574e7842cb2144a159e9377a5f20b32edf9")
}

// UnpackSafeERC20FailedOperationError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error SafeERC20FailedOperation(address token)
func (testPermit2 *TestPermit2) UnpackSafeERC20FailedOperationError(raw []byte) (*TestPermit2SafeERC20FailedOperation, error) {
	out := new(TestPermit2SafeERC20FailedOperation)
	if err := testPermit2.abi.UnpackIntoInterface(out, "SafeERC20FailedOperation", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// TestPermit2SignatureExpired represents a SignatureExpired error raised by the TestPermit2 contract.
type TestPermit2SignatureExpired struct {
	SignatureDeadline *big.Int
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error SignatureExpired(uint256 signatureDeadline)
func TestPermit2SignatureExpiredErrorID() common.Hash {
	return common.HexToHash("0xcd21db4f5222c209a625f44a7faa4c7077b21128ed96c96bd5c3a0f7bcc95d38")
}

// UnpackSignatureExpiredError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error SignatureExpired(uint256 signatureDeadline)
func (testPermit2 *TestPermit2) UnpackSignatureExpiredError(raw []byte) (*TestPermit2SignatureExpired, error) {
	out := new(TestPermit2SignatureExpired)
	if err := testPermit2.abi.UnpackIntoInterface(out, "SignatureExpired", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// TestUSDCMetaData contains all meta data concerning the TestUSDC contract.
var TestUSDCMetaData = bind.MetaData{
	ABI: "[{\"inputs\":[{\"internalType\":\"string\",\"name\":\"name_\",\"type\":\"string\"},{\"internalType\":\"string\",\"name\":\"version_\",\"type\":\"string\"}],\"stateMutability\":\"nonpayable\",\"type\":\"constructor\"},{\"inputs\":[{\"internalType\":\"uint256\",\"name\":\"validBefore\",\"type\":\"uint256\"}],\"name\":\"AuthorizationExpired\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint256\",\"name\":\"validAfter\",\"type\":\"uint256\"}],\"name\":\"AuthorizationNotYetValid\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"authorizer\",\"type\":\"address\"},{\"internalType\":\"bytes32\",\"name\":\"nonce\",\"type\":\"bytes32\"}],\"name\":\"AuthorizationUsedOrCanceled\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"caller\",\"type\":\"address\"}],\"name\":\"CallerIsNotPayee\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"spender\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"allowance\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"needed\",\"type\":\"uint256\"}],\"name\":\"ERC20InsufficientAllowance\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"sender\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"balance\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"needed\",\"type\":\"uint256\"}],\"name\":\"ERC20InsufficientBalance\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"approver\",\"type\":\"address\"}],\"name\":\"ERC20InvalidApprover\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"receiver\",\"type\":\"address\"}],\"name\":\"ERC20InvalidReceiver\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"sender\",\"type\":\"address\"}],\"name\":\"ERC20InvalidSender\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"spender\",\"type\":\"address\"}],\"name\":\"ERC20InvalidSpender\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"account\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"currentNonce\",\"type\":\"uint256\"}],\"name\":\"InvalidAccountNonce\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"InvalidSignature\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint256\",\"name\":\"deadline\",\"type\":\"uint256\"}],\"name\":\"PermitExpired\",\"type\":\"error\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"address\",\"name\":\"owner\",\"type\":\"address\"},{\"indexed\":true,\"internalType\":\"address\",\"name\":\"spender\",\"type\":\"address\"},{\"indexed\":false,\"internalType\":\"uint256\",\"name\":\"value\",\"type\":\"uint256\"}],\"name\":\"Approval\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"address\",\"name\":\"authorizer\",\"type\":\"address\"},{\"indexed\":true,\"internalType\":\"bytes32\",\"name\":\"nonce\",\"type\":\"bytes32\"}],\"name\":\"AuthorizationCanceled\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"address\",\"name\":\"authorizer\",\"type\":\"address\"},{\"indexed\":true,\"internalType\":\"bytes32\",\"name\":\"nonce\",\"type\":\"bytes32\"}],\"name\":\"AuthorizationUsed\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"address\",\"name\":\"from\",\"type\":\"address\"},{\"indexed\":true,\"internalType\":\"address\",\"name\":\"to\",\"type\":\"address\"},{\"indexed\":false,\"internalType\":\"uint256\",\"name\":\"value\",\"type\":\"uint256\"}],\"name\":\"Transfer\",\"type\":\"event\"},{\"inputs\":[],\"name\":\"CANCEL_AUTHORIZATION_TYPEHASH\",\"outputs\":[{\"internalType\":\"bytes32\",\"name\":\"\",\"type\":\"bytes32\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"DOMAIN_SEPARATOR\",\"outputs\":[{\"internalType\":\"bytes32\",\"name\":\"\",\"type\":\"bytes32\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"PERMIT_TYPEHASH\",\"outputs\":[{\"internalType\":\"bytes32\",\"name\":\"\",\"type\":\"bytes32\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"RECEIVE_WITH_AUTHORIZATION_TYPEHASH\",\"outputs\":[{\"internalType\":\"bytes32\",\"name\":\"\",\"type\":\"bytes32\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"TRANSFER_WITH_AUTHORIZATION_TYPEHASH\",\"outputs\":[{\"internalType\":\"bytes32\",\"name\":\"\",\"type\":\"bytes32\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"owner\",\"type\":\"address\"},{\"internalType\":\"address\",\"name\":\"spender\",\"type\":\"address\"}],\"name\":\"allowance\",\"outputs\":[{\"internalType\":\"uint256\",\"name\":\"\",\"type\":\"uint256\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"spender\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"value\",\"type\":\"uint256\"}],\"name\":\"approve\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"\",\"type\":\"bool\"}],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"authorizer\",\"type\":\"address\"},{\"internalType\":\"bytes32\",\"name\":\"nonce\",\"type\":\"bytes32\"}],\"name\":\"authorizationState\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"\",\"type\":\"bool\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"account\",\"type\":\"address\"}],\"name\":\"balanceOf\",\"outputs\":[{\"internalType\":\"uint256\",\"name\":\"\",\"type\":\"uint256\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"authorizer\",\"type\":\"address\"},{\"internalType\":\"bytes32\",\"name\":\"nonce\",\"type\":\"bytes32\"},{\"internalType\":\"uint8\",\"name\":\"v\",\"type\":\"uint8\"},{\"internalType\":\"bytes32\",\"name\":\"r\",\"type\":\"bytes32\"},{\"internalType\":\"bytes32\",\"name\":\"s\",\"type\":\"bytes32\"}],\"name\":\"cancelAuthorization\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"authorizer\",\"type\":\"address\"},{\"internalType\":\"bytes32\",\"name\":\"nonce\",\"type\":\"bytes32\"},{\"internalType\":\"bytes\",\"name\":\"signature\",\"type\":\"bytes\"}],\"name\":\"cancelAuthorization\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"decimals\",\"outputs\":[{\"internalType\":\"uint8\",\"name\":\"\",\"type\":\"uint8\"}],\"stateMutability\":\"pure\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"to\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"value\",\"type\":\"uint256\"}],\"name\":\"mint\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"name\",\"outputs\":[{\"internalType\":\"string\",\"name\":\"\",\"type\":\"string\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"owner\",\"type\":\"address\"}],\"name\":\"nonces\",\"outputs\":[{\"internalType\":\"uint256\",\"name\":\"\",\"type\":\"uint256\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"owner\",\"type\":\"address\"},{\"internalType\":\"address\",\"name\":\"spender\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"value\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"deadline\",\"type\":\"uint256\"},{\"internalType\":\"bytes\",\"name\":\"signature\",\"type\":\"bytes\"}],\"name\":\"permit\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"owner\",\"type\":\"address\"},{\"internalType\":\"address\",\"name\":\"spender\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"value\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"deadline\",\"type\":\"uint256\"},{\"internalType\":\"uint8\",\"name\":\"v\",\"type\":\"uint8\"},{\"internalType\":\"bytes32\",\"name\":\"r\",\"type\":\"bytes32\"},{\"internalType\":\"bytes32\",\"name\":\"s\",\"type\":\"bytes32\"}],\"name\":\"permit\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"from\",\"type\":\"address\"},{\"internalType\":\"address\",\"name\":\"to\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"value\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"validAfter\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"validBefore\",\"type\":\"uint256\"},{\"internalType\":\"bytes32\",\"name\":\"nonce\",\"type\":\"bytes32\"},{\"internalType\":\"bytes\",\"name\":\"signature\",\"type\":\"bytes\"}],\"name\":\"receiveWithAuthorization\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"from\",\"type\":\"address\"},{\"internalType\":\"address\",\"name\":\"to\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"value\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"validAfter\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"validBefore\",\"type\":\"uint256\"},{\"internalType\":\"bytes32\",\"name\":\"nonce\",\"type\":\"bytes32\"},{\"internalType\":\"uint8\",\"name\":\"v\",\"type\":\"uint8\"},{\"internalType\":\"bytes32\",\"name\":\"r\",\"type\":\"bytes32\"},{\"internalType\":\"bytes32\",\"name\":\"s\",\"type\":\"bytes32\"}],\"name\":\"receiveWithAuthorization\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"symbol\",\"outputs\":[{\"internalType\":\"string\",\"name\":\"\",\"type\":\"string\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"totalSupply\",\"outputs\":[{\"internalType\":\"uint256\",\"name\":\"\",\"type\":\"uint256\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"to\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"value\",\"type\":\"uint256\"}],\"name\":\"transfer\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"\",\"type\":\"bool\"}],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"from\",\"type\":\"address\"},{\"internalType\":\"address\",\"name\":\"to\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"value\",\"type\":\"uint256\"}],\"name\":\"transferFrom\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"\",\"type\":\"bool\"}],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"from\",\"type\":\"address\"},{\"internalType\":\"address\",\"name\":\"to\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"value\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"validAfter\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"validBefore\",\"type\":\"uint256\"},{\"internalType\":\"bytes32\",\"name\":\"nonce\",\"type\":\"bytes32\"},{\"internalType\":\"bytes\",\"name\":\"signature\",\"type\":\"bytes\"}],\"name\":\"transferWithAuthorization\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"from\",\"type\":\"address\"},{\"internalType\":\"address\",\"name\":\"to\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"value\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"validAfter\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"validBefore\",\"type\":\"uint256\"},{\"internalType\":\"bytes32\",\"name\":\"nonce\",\"type\":\"bytes32\"},{\"internalType\":\"uint8\",\"name\":\"v\",\"type\":\"uint8\"},{\"internalType\":\"bytes32\",\"name\":\"r\",\"type\":\"bytes32\"},{\"internalType\":\"bytes32\",\"name\":\"s\",\"type\":\"bytes32\"}],\"name\":\"transferWithAuthorization\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"version\",\"outputs\":[{\"internalType\":\"string\",\"name\":\"\",\"type\":\"string\"}],\"stateMutability\":\"view\",\"type\":\"function\"}]",
	ID:  "TestUSDC",
	Bin: "0x608060405234801561000f575f5ffd5b50604051611dd5380380611dd583398101604081905261002e9161011a565b6040805180820190915260048152635553444360e01b6020820152829060036100578382610203565b5060046100648282610203565b506006915061007590508282610203565b5050506102bd565b634e487b7160e01b5f52604160045260245ffd5b5f82601f8301126100a0575f5ffd5b81516001600160401b038111156100b9576100b961007d565b604051601f8201601f19908116603f011681016001600160401b03811182821017156100e7576100e761007d565b6040528181528382016020018510156100fe575f5ffd5b8160208501602083015e5f918101602001919091529392505050565b5f5f6040838503121561012b575f5ffd5b82516001600160401b03811115610140575f5ffd5b61014c85828601610091565b602085015190935090506001600160401b03811115610169575f5ffd5b61017585828601610091565b9150509250929050565b600181811c9082168061019357607f821691505b6020821081036101b157634e487b7160e01b5f52602260045260245ffd5b50919050565b601f8211156101fe57805f5260205f20601f840160051c810160208510156101dc5750805b601f840160051c820191505b818110156101fb575f81556001016101e8565b50505b505050565b81516001600160401b0381111561021c5761021c61007d565b6102308161022a845461017f565b846101b7565b6020601f821160018114610262575f831561024b5750848201515b5f19600385901b1c1916600184901b1784556101fb565b5f84815260208120601f198516915b828110156102915787850151825560209485019460019092019101610271565b50848210156102ae57868401515f19600387901b60f8161c191681555b50505050600190811b01905550565b611b0b806102ca5f395ff3fe608060405234801561000f575f5ffd5b50600436106101a5575f3560e01c806388b7ab63116100e8578063cf09299511610093578063dd62ed3e1161006e578063dd62ed3e146103d6578063e3ee160e1461041b578063e94a01021461042e578063ef55bec61461045b575f5ffd5b8063cf09299514610389578063d505accf1461039c578063d9169487146103af575f5ffd5b8063a0cc6a68116100c3578063a0cc6a681461033c578063a9059cbb14610363578063b7b7289914610376575f5ffd5b806388b7ab631461030e57806395d89b41146103215780639fd5a6cf14610329575f5ffd5b80633644e515116101535780635a049a701161012e5780635a049a701461026a57806370a082311461027d5780637ecebe00146102b25780637f2eecc3146102e7575f5ffd5b80633644e5151461024557806340c10f191461024d57806354fd4d5014610262575f5ffd5b806323b872dd1161018357806323b872dd146101fc57806330adf81f1461020f578063313ce56714610236575f5ffd5b806306fdde03146101a9578063095ea7b3146101c757806318160ddd146101ea575b5f5ffd5b6101b161046e565b6040516101be91906114ec565b60405180910390f35b6101da6101d5366004611567565b6104fe565b60405190151581526020016101be565b6002545b6040519081526020016101be565b6101da61020a36600461158f565b610517565b6101ee7f6e71edae12b1b97f4d1f60370fef10105fa2faae0126114a169c64845d6126c981565b604051600681526020016101be565b6101ee61053c565b61026061025b366004611567565b6105c6565b005b6101b16105d4565b6102606102783660046115d9565b610660565b6101ee61028b366004611623565b73ffffffffffffffffffffffffffffffffffffffff165f9081526020819052604090205490565b6101ee6102c0366004611623565b73ffffffffffffffffffffffffffffffffffffffff165f9081526005602052604090205490565b6101ee7fd099cc98ef71107a616c4f0f941f04c322d8e254fe26b3c6668db87aae413de881565b61026061031c366004611731565b6106c3565b6101b1610752565b6102606103373660046117b0565b610761565b6101ee7f7c7c6cdb67a18743f49ec6fa9b35f50d52ed05cbed4cc592e13b44501c1a226781565b6101da610371366004611567565b610866565b61026061038436600461181d565b610873565b610260610397366004611731565b6109de565b6102606103aa366004611870565b610a0e565b6101ee7f158b0a9edf7a828aad02f63cd515c68ef2f50ba807396f6d12842833a159742981565b6101ee6103e43660046118d6565b73ffffffffffffffffffffffffffffffffffffffff9182165f90815260016020908152604080832093909416825291909152205490565b610260610429366004611907565b610a74565b6101da61043c366004611567565b600760209081525f928352604080842090915290825290205460ff1681565b610260610469366004611907565b610ae7565b60606003805461047d90611982565b80601f01602080910402602001604051908101604052809291908181526020018280546104a990611982565b80156104f45780601f106104cb576101008083540402835291602001916104f4565b820191905f5260205f20905b8154815290600101906020018083116104d757829003601f168201915b5050505050905090565b5f3361050b818585610b4f565b60019150505b92915050565b5f33610524858285610b61565b61052f858585610c2f565b60019150505b9392505050565b5f7f8b73c3c69bb8fe3d512ecc4cf759cc79239f7b179b0ffacaa9a75d522b39400f61056661046e565b80519060200120600660405161057c91906119d3565b60408051918290038220602083019490945281019190915260608101919091524660808201523060a082015260c00160405160208183030381529060405280519060200120905090565b6105d08282610cd8565b5050565b600680546105e190611982565b80601f016020809104026020016040519081016040528092919081815260200182805461060d90611982565b80156106585780601f1061062f57610100808354040283529160200191610658565b820191905f5260205f20905b81548152906001019060200180831161063b57829003601f168201915b505050505081565b60408051602081018490529081018290527fff0000000000000000000000000000000000000000000000000000000000000060f885901b1660608201526106bc9086908690606101604051602081830303815290604052610873565b5050505050565b3373ffffffffffffffffffffffffffffffffffffffff871614610719576040517f158259f10000000000000000000000000000000000000000000000000000000081523360048201526024015b60405180910390fd5b6107497fd099cc98ef71107a616c4f0f941f04c322d8e254fe26b3c6668db87aae413de888888888888888610d32565b50505050505050565b60606004805461047d90611982565b8142111561079e576040517f9e96b26f00000000000000000000000000000000000000000000000000000000815260048101839052602401610710565b61085b857f6e71edae12b1b97f4d1f60370fef10105fa2faae0126114a169c64845d6126c98787876107f98b73ffffffffffffffffffffffffffffffffffffffff165f90815260056020526040902080546001810190915590565b60408051602081019690965273ffffffffffffffffffffffffffffffffffffffff94851690860152929091166060840152608083015260a082015260c0810185905260e0015b6040516020818303038152906040528051906020012083610f25565b6106bc858585610b4f565b5f3361050b818585610c2f565b73ffffffffffffffffffffffffffffffffffffffff83165f90815260076020908152604080832085845290915290205460ff16156108fc576040517f8ef82f7f00000000000000000000000000000000000000000000000000000000815273ffffffffffffffffffffffffffffffffffffffff8416600482015260248101839052604401610710565b604080517f158b0a9edf7a828aad02f63cd515c68ef2f50ba807396f6d12842833a1597429602082015273ffffffffffffffffffffffffffffffffffffffff8516918101919091526060810183905261095990849060800161083f565b73ffffffffffffffffffffffffffffffffffffffff83165f81815260076020908152604080832086845290915280822080547fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff00166001179055518492917f1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d8191a3505050565b6107497f7c7c6cdb67a18743f49ec6fa9b35f50d52ed05cbed4cc592e13b44501c1a226788888888888888610d32565b61074987878787868689604051602001610a6093929190928352602083019190915260f81b7fff0000000000000000000000000000000000000000000000000000000000000016604082015260410190565b604051602081830303815290604052610761565b610adc89898989898988888b604051602001610ac893929190928352602083019190915260f81b7fff0000000000000000000000000000000000000000000000000000000000000016604082015260410190565b6040516020818303038152906040526109de565b505050505050505050565b610adc89898989898988888b604051602001610b3b93929190928352602083019190915260f81b7fff0000000000000000000000000000000000000000000000000000000000000016604082015260410190565b6040516020818303038152906040526106c3565b610b5c8383836001610faf565b505050565b73ffffffffffffffffffffffffffffffffffffffff8381165f908152600160209081526040808320938616835292905220547fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff811015610c295781811015610c1b576040517ffb8f41b200000000000000000000000000000000000000000000000000000000815273ffffffffffffffffffffffffffffffffffffffff841660048201526024810182905260448101839052606401610710565b610c2984848484035f610faf565b50505050565b73ffffffffffffffffffffffffffffffffffffffff8316610c7e576040517f96c6fd1e0000000000000000000000000000000000000000000000000000000081525f6004820152602401610710565b73ffffffffffffffffffffffffffffffffffffffff8216610ccd576040517fec442f050000000000000000000000000000000000000000000000000000000081525f6004820152602401610710565b610b5c8383836110f4565b73ffffffffffffffffffffffffffffffffffffffff8216610d27576040517fec442f050000000000000000000000000000000000000000000000000000000081525f6004820152602401610710565b6105d05f83836110f4565b834211610d6e576040517f7a4df07900000000000000000000000000000000000000000000000000000000815260048101859052602401610710565b824210610daa576040517f3d91b05f00000000000000000000000000000000000000000000000000000000815260048101849052602401610710565b73ffffffffffffffffffffffffffffffffffffffff87165f90815260076020908152604080832085845290915290205460ff1615610e33576040517f8ef82f7f00000000000000000000000000000000000000000000000000000000815273ffffffffffffffffffffffffffffffffffffffff8816600482015260248101839052604401610710565b60408051602081018a905273ffffffffffffffffffffffffffffffffffffffff808a169282019290925290871660608201526080810186905260a0810185905260c0810184905260e08101839052610e909088906101000161083f565b73ffffffffffffffffffffffffffffffffffffffff87165f81815260076020908152604080832086845290915280822080547fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff00166001179055518492917f98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a591a3610f1b878787610c2f565b5050505050505050565b5f610f6c610f3161053c565b846040517f19010000000000000000000000000000000000000000000000000000000000008152600281019290925260228201526042902090565b9050610f7984828461129b565b610c29576040517f8baa579f00000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b73ffffffffffffffffffffffffffffffffffffffff8416610ffe576040517fe602df050000000000000000000000000000000000000000000000000000000081525f6004820152602401610710565b73ffffffffffffffffffffffffffffffffffffffff831661104d576040517f94280d620000000000000000000000000000000000000000000000000000000081525f6004820152602401610710565b73ffffffffffffffffffffffffffffffffffffffff8085165f9081526001602090815260408083209387168352929052208290558015610c29578273ffffffffffffffffffffffffffffffffffffffff168473ffffffffffffffffffffffffffffffffffffffff167f8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925846040516110e691815260200190565b60405180910390a350505050565b73ffffffffffffffffffffffffffffffffffffffff831661112b578060025f8282546111209190611aa6565b909155506111db9050565b73ffffffffffffffffffffffffffffffffffffffff83165f90815260208190526040902054818110156111b0576040517fe450d38c00000000000000000000000000000000000000000000000000000000815273ffffffffffffffffffffffffffffffffffffffff851660048201526024810182905260448101839052606401610710565b73ffffffffffffffffffffffffffffffffffffffff84165f9081526020819052604090209082900390555b73ffffffffffffffffffffffffffffffffffffffff82166112045760028054829003905561122f565b73ffffffffffffffffffffffffffffffffffffffff82165f9081526020819052604090208054820190555b8173ffffffffffffffffffffffffffffffffffffffff168373ffffffffffffffffffffffffffffffffffffffff167fddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef8360405161128e91815260200190565b60405180910390a3505050565b5f8373ffffffffffffffffffffffffffffffffffffffff163b5f03611320575f5f6112c68585611332565b5090925090505f8160038111156112df576112df611ade565b14801561131757508573ffffffffffffffffffffffffffffffffffffffff168273ffffffffffffffffffffffffffffffffffffffff16145b92505050610535565b61132b84848461137b565b9050610535565b5f5f5f8351604103611369576020840151604085015160608601515f1a61135b888285856113f9565b955095509550505050611374565b505081515f91506002905b9250925092565b8051604080517f1626ba7e000000000000000000000000000000000000000000000000000000008082526004820186905260248201929092525f92906020820185604483015e5f82606483010152601f820160051c60051b915060205f60648401838a5afa9050825f5114601f3d1116811693505050509392505050565b5f80807f7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a084111561143257505f915060039050826114e2565b604080515f808252602082018084528a905260ff891692820192909252606081018790526080810186905260019060a0016020604051602081039080840390855afa158015611483573d5f5f3e3d5ffd5b50506040517fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe0015191505073ffffffffffffffffffffffffffffffffffffffff81166114d957505f9250600191508290506114e2565b92505f91508190505b9450945094915050565b602081525f82518060208401528060208501604085015e5f6040828501015260407fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe0601f83011684010191505092915050565b803573ffffffffffffffffffffffffffffffffffffffff81168114611562575f5ffd5b919050565b5f5f60408385031215611578575f5ffd5b6115818361153f565b946020939093013593505050565b5f5f5f606084860312156115a1575f5ffd5b6115aa8461153f565b92506115b86020850161153f565b929592945050506040919091013590565b803560ff81168114611562575f5ffd5b5f5f5f5f5f60a086880312156115ed575f5ffd5b6115f68661153f565b94506020860135935061160b604087016115c9565b94979396509394606081013594506080013592915050565b5f60208284031215611633575f5ffd5b6105358261153f565b7f4e487b71000000000000000000000000000000000000000000000000000000005f52604160045260245ffd5b5f82601f830112611678575f5ffd5b813567ffffffffffffffff8111156116925761169261163c565b6040517fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe0603f7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe0601f8501160116810181811067ffffffffffffffff821117156116fe576116fe61163c565b604052818152838201602001851015611715575f5ffd5b816020850160208301375f918101602001919091529392505050565b5f5f5f5f5f5f5f60e0888a031215611747575f5ffd5b6117508861153f565b965061175e6020890161153f565b955060408801359450606088013593506080880135925060a0880135915060c088013567ffffffffffffffff811115611795575f5ffd5b6117a18a828b01611669565b91505092959891949750929550565b5f5f5f5f5f60a086880312156117c4575f5ffd5b6117cd8661153f565b94506117db6020870161153f565b93506040860135925060608601359150608086013567ffffffffffffffff811115611804575f5ffd5b61181088828901611669565b9150509295509295909350565b5f5f5f6060848603121561182f575f5ffd5b6118388461153f565b925060208401359150604084013567ffffffffffffffff81111561185a575f5ffd5b61186686828701611669565b9150509250925092565b5f5f5f5f5f5f5f60e0888a031215611886575f5ffd5b61188f8861153f565b965061189d6020890161153f565b955060408801359450606088013593506118b9608089016115c9565b9699959850939692959460a0840135945060c09093013592915050565b5f5f604083850312156118e7575f5ffd5b6118f08361153f565b91506118fe6020840161153f565b90509250929050565b5f5f5f5f5f5f5f5f5f6101208a8c031215611920575f5ffd5b6119298a61153f565b985061193760208b0161153f565b975060408a0135965060608a0135955060808a0135945060a08a0135935061196160c08b016115c9565b989b979a50959894979396929550929360e081013593506101000135919050565b600181811c9082168061199657607f821691505b6020821081036119cd577f4e487b71000000000000000000000000000000000000000000000000000000005f52602260045260245ffd5b50919050565b5f5f83545f8160011c905060018216806119ee57607f821691505b602082108103611a25577f4e487b71000000000000000000000000000000000000000000000000000000005f52602260045260245ffd5b808015611a395760018114611a6c57611a9a565b7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff0084168752821515830287019450611a9a565b5f888152602090205f5b84811015611a9257815489820152600190910190602001611a76565b505082870194505b50929695505050505050565b80820180821115610511577f4e487b71000000000000000000000000000000000000000000000000000000005f52601160045260245ffd5b7f4e487b71000000000000000000000000000000000000000000000000000000005f52602160045260245ffd",
}

// TestUSDC is an auto generated Go binding around an Ethereum contract.
type TestUSDC struct {
	abi abi.ABI
}

// GetABI returns the ABI associated with this contract binding.
func (c *TestUSDC) GetABI() abi.ABI {
	return c.abi
}

// NewTestUSDC creates a new instance of TestUSDC.
func NewTestUSDC() *TestUSDC {
	parsed, err := TestUSDCMetaData.ParseABI()
	if err != nil {
		panic(errors.New("invalid ABI: " + err.Error()))
	}
	return &TestUSDC{abi: *parsed}
}

// Instance creates a wrapper for a deployed contract instance at the given address.
// Use this to create the instance object passed to abigen v2 library functions Call, Transact, etc.
func (c *TestUSDC) Instance(backend bind.ContractBackend, addr common.Address) *bind.BoundContract {
	return bind.NewBoundContract(addr, c.abi, backend, backend, backend)
}

// PackConstructor is the Go binding used to pack the parameters required for
// contract deployment.
//
// Solidity: constructor(string name_, string version_) returns()
func (testUSDC *TestUSDC) PackConstructor(name_ string, version_ string) []byte {
	enc, err := testUSDC.abi.Pack("", name_, version_)
	if err != nil {
		panic(err)
	}
	return enc
}

// PackCANCELAUTHORIZATIONTYPEHASH is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xd9169487.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function CANCEL_AUTHORIZATION_TYPEHASH() view returns(bytes32)
func (testUSDC *TestUSDC) PackCANCELAUTHORIZATIONTYPEHASH() []byte {
	enc, err := testUSDC.abi.Pack("CANCEL_AUTHORIZATION_TYPEHASH")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackCANCELAUTHORIZATIONTYPEHASH is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xd9169487.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function CANCEL_AUTHORIZATION_TYPEHASH() view returns(bytes32)
func (testUSDC *TestUSDC) TryPackCANCELAUTHORIZATIONTYPEHASH() ([]byte, error) {
	return testUSDC.abi.Pack("CANCEL_AUTHORIZATION_TYPEHASH")
}

// UnpackCANCELAUTHORIZATIONTYPEHASH is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xd9169487.
//
// Solidity: function CANCEL_AUTHORIZATION_TYPEHASH() view returns(bytes32)
func (testUSDC *TestUSDC) UnpackCANCELAUTHORIZATIONTYPEHASH(data []byte) ([32]byte, error) {
	out, err := testUSDC.abi.Unpack("CANCEL_AUTHORIZATION_TYPEHASH", data)
	if err != nil {
		return *new([32]byte), err
	}
	out0 := *abi.ConvertType(out[0], new([32]byte)).(*[32]byte)
	return out0, nil
}

// PackDOMAINSEPARATOR is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x3644e515.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function DOMAIN_SEPARATOR() view returns(bytes32)
func (testUSDC *TestUSDC) PackDOMAINSEPARATOR() []byte {
	enc, err := testUSDC.abi.Pack("DOMAIN_SEPARATOR")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackDOMAINSEPARATOR is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x3644e515.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function DOMAIN_SEPARATOR() view returns(bytes32)
func (testUSDC *TestUSDC) TryPackDOMAINSEPARATOR() ([]byte, error) {
	return testUSDC.abi.Pack("DOMAIN_SEPARATOR")
}

// UnpackDOMAINSEPARATOR is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x3644e515.
//
// Solidity: function DOMAIN_SEPARATOR() view returns(bytes32)
func (testUSDC *TestUSDC) UnpackDOMAINSEPARATOR(data []byte) ([32]byte, error) {
	out, err := testUSDC.abi.Unpack("DOMAIN_SEPARATOR", data)
	if err != nil {
		return *new([32]byte), err
	}
	out0 := *abi.ConvertType(out[0], new([32]byte)).(*[32]byte)
	return out0, nil
}

// PackPERMITTYPEHASH is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x30adf81f.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function PERMIT_TYPEHASH() view returns(bytes32)
func (testUSDC *TestUSDC) PackPERMITTYPEHASH() []byte {
	enc, err := testUSDC.abi.Pack("PERMIT_TYPEHASH")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackPERMITTYPEHASH is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x30adf81f.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function PERMIT_TYPEHASH() view returns(bytes32)
func (testUSDC *TestUSDC) TryPackPERMITTYPEHASH() ([]byte, error) {
	return testUSDC.abi.Pack("PERMIT_TYPEHASH")
}

// UnpackPERMITTYPEHASH is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x30adf81f.
//
// Solidity: function PERMIT_TYPEHASH() view returns(bytes32)
func (testUSDC *TestUSDC) UnpackPERMITTYPEHASH(data []byte) ([32]byte, error) {
	out, err := testUSDC.abi.Unpack("PERMIT_TYPEHASH", data)
	if err != nil {
		return *new([32]byte), err
	}
	out0 := *abi.ConvertType(out[0], new([32]byte)).(*[32]byte)
	return out0, nil
}

// PackRECEIVEWITHAUTHORIZATIONTYPEHASH is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x7f2eecc3.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function RECEIVE_WITH_AUTHORIZATION_TYPEHASH() view returns(bytes32)
func (testUSDC *TestUSDC) PackRECEIVEWITHAUTHORIZATIONTYPEHASH() []byte {
	enc, err := testUSDC.abi.Pack("RECEIVE_WITH_AUTHORIZATION_TYPEHASH")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackRECEIVEWITHAUTHORIZATIONTYPEHASH is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x7f2eecc3.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function RECEIVE_WITH_AUTHORIZATION_TYPEHASH() view returns(bytes32)
func (testUSDC *TestUSDC) TryPackRECEIVEWITHAUTHORIZATIONTYPEHASH() ([]byte, error) {
	return testUSDC.abi.Pack("RECEIVE_WITH_AUTHORIZATION_TYPEHASH")
}

// UnpackRECEIVEWITHAUTHORIZATIONTYPEHASH is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x7f2eecc3.
//
// Solidity: function RECEIVE_WITH_AUTHORIZATION_TYPEHASH() view returns(bytes32)
func (testUSDC *TestUSDC) UnpackRECEIVEWITHAUTHORIZATIONTYPEHASH(data []byte) ([32]byte, error) {
	out, err := testUSDC.abi.Unpack("RECEIVE_WITH_AUTHORIZATION_TYPEHASH", data)
	if err != nil {
		return *new([32]byte), err
	}
	out0 := *abi.ConvertType(out[0], new([32]byte)).(*[32]byte)
	return out0, nil
}

// PackTRANSFERWITHAUTHORIZATIONTYPEHASH is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xa0cc6a68.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function TRANSFER_WITH_AUTHORIZATION_TYPEHASH() view returns(bytes32)
func (testUSDC *TestUSDC) PackTRANSFERWITHAUTHORIZATIONTYPEHASH() []byte {
	enc, err := testUSDC.abi.Pack("TRANSFER_WITH_AUTHORIZATION_TYPEHASH")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackTRANSFERWITHAUTHORIZATIONTYPEHASH is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xa0cc6a68.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function TRANSFER_WITH_AUTHORIZATION_TYPEHASH() view returns(bytes32)
func (testUSDC *TestUSDC) TryPackTRANSFERWITHAUTHORIZATIONTYPEHASH() ([]byte, error) {
	return testUSDC.abi.Pack("TRANSFER_WITH_AUTHORIZATION_TYPEHASH")
}

// UnpackTRANSFERWITHAUTHORIZATIONTYPEHASH is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xa0cc6a68.
//
// Solidity: function TRANSFER_WITH_AUTHORIZATION_TYPEHASH() view returns(bytes32)
func (testUSDC *TestUSDC) UnpackTRANSFERWITHAUTHORIZATIONTYPEHASH(data []byte) ([32]byte, error) {
	out, err := testUSDC.abi.Unpack("TRANSFER_WITH_AUTHORIZATION_TYPEHASH", data)
	if err != nil {
		return *new([32]byte), err
	}
	out0 := *abi.ConvertType(out[0], new([32]byte)).(*[32]byte)
	return out0, nil
}

// PackAllowance is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xdd62ed3e.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function allowance(address owner, address spender) view returns(uint256)
func (testUSDC *TestUSDC) PackAllowance(owner common.Address, spender common.Address) []byte {
	enc, err := testUSDC.abi.Pack("allowance", owner, spender)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackAllowance is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xdd62ed3e.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function allowance(address owner, address spender) view returns(uint256)
func (testUSDC *TestUSDC) TryPackAllowance(owner common.Address, spender common.Address) ([]byte, error) {
	return testUSDC.abi.Pack("allowance", owner, spender)
}

// UnpackAllowance is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xdd62ed3e.
//
// Solidity: function allowance(address owner, address spender) view returns(uint256)
func (testUSDC *TestUSDC) UnpackAllowance(data []byte) (*big.Int, error) {
	out, err := testUSDC.abi.Unpack("allowance", data)
	if err != nil {
		return new(big.Int), err
	}
	out0 := abi.ConvertType(out[0], new(big.Int)).(*big.Int)
	return out0, nil
}

// PackApprove is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x095ea7b3.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function approve(address spender, uint256 value) returns(bool)
func (testUSDC *TestUSDC) PackApprove(spender common.Address, value *big.Int) []byte {
	enc, err := testUSDC.abi.Pack("approve", spender, value)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackApprove is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x095ea7b3.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function approve(address spender, uint256 value) returns(bool)
func (testUSDC *TestUSDC) TryPackApprove(spender common.Address, value *big.Int) ([]byte, error) {
	return testUSDC.abi.Pack("approve", spender, value)
}

// UnpackApprove is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x095ea7b3.
//
// Solidity: function approve(address spender, uint256 value) returns(bool)
func (testUSDC *TestUSDC) UnpackApprove(data []byte) (bool, error) {
	out, err := testUSDC.abi.Unpack("approve", data)
	if err != nil {
		return *new(bool), err
	}
	out0 := *abi.ConvertType(out[0], new(bool)).(*bool)
	return out0, nil
}

// PackAuthorizationState is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xe94a0102.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function authorizationState(address authorizer, bytes32 nonce) view returns(bool)
func (testUSDC *TestUSDC) PackAuthorizationState(authorizer common.Address, nonce [32]byte) []byte {
	enc, err := testUSDC.abi.Pack("authorizationState", authorizer, nonce)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackAuthorizationState is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xe94a0102.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function authorizationState(address authorizer, bytes32 nonce) view returns(bool)
func (testUSDC *TestUSDC) TryPackAuthorizationState(authorizer common.Address, nonce [32]byte) ([]byte, error) {
	return testUSDC.abi.Pack("authorizationState", authorizer, nonce)
}

// UnpackAuthorizationState is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xe94a0102.
//
// Solidity: function authorizationState(address authorizer, bytes32 nonce) view returns(bool)
func (testUSDC *TestUSDC) UnpackAuthorizationState(data []byte) (bool, error) {
	out, err := testUSDC.abi.Unpack("authorizationState", data)
	if err != nil {
		return *new(bool), err
	}
	out0 := *abi.ConvertType(out[0], new(bool)).(*bool)
	return out0, nil
}

// PackBalanceOf is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x70a08231.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function balanceOf(address account) view returns(uint256)
func (testUSDC *TestUSDC) PackBalanceOf(account common.Address) []byte {
	enc, err := testUSDC.abi.Pack("balanceOf", account)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackBalanceOf is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x70a08231.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function balanceOf(address account) view returns(uint256)
func (testUSDC *TestUSDC) TryPackBalanceOf(account common.Address) ([]byte, error) {
	return testUSDC.abi.Pack("balanceOf", account)
}

// UnpackBalanceOf is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x70a08231.
//
// Solidity: function balanceOf(address account) view returns(uint256)
func (testUSDC *TestUSDC) UnpackBalanceOf(data []byte) (*big.Int, error) {
	out, err := testUSDC.abi.Unpack("balanceOf", data)
	if err != nil {
		return new(big.Int), err
	}
	out0 := abi.ConvertType(out[0], new(big.Int)).(*big.Int)
	return out0, nil
}

// PackCancelAuthorization is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x5a049a70.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) returns()
func (testUSDC *TestUSDC) PackCancelAuthorization(authorizer common.Address, nonce [32]byte, v uint8, r [32]byte, s [32]byte) []byte {
	enc, err := testUSDC.abi.Pack("cancelAuthorization", authorizer, nonce, v, r, s)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackCancelAuthorization is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x5a049a70.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) returns()
func (testUSDC *TestUSDC) TryPackCancelAuthorization(authorizer common.Address, nonce [32]byte, v uint8, r [32]byte, s [32]byte) ([]byte, error) {
	return testUSDC.abi.Pack("cancelAuthorization", authorizer, nonce, v, r, s)
}

// PackCancelAuthorization0 is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xb7b72899.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function cancelAuthorization(address authorizer, bytes32 nonce, bytes signature) returns()
func (testUSDC *TestUSDC) PackCancelAuthorization0(authorizer common.Address, nonce [32]byte, signature []byte) []byte {
	enc, err := testUSDC.abi.Pack("cancelAuthorization0", authorizer, nonce, signature)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackCancelAuthorization0 is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xb7b72899.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function cancelAuthorization(address authorizer, bytes32 nonce, bytes signature) returns()
func (testUSDC *TestUSDC) TryPackCancelAuthorization0(authorizer common.Address, nonce [32]byte, signature []byte) ([]byte, error) {
	return testUSDC.abi.Pack("cancelAuthorization0", authorizer, nonce, signature)
}

// PackDecimals is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x313ce567.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function decimals() pure returns(uint8)
func (testUSDC *TestUSDC) PackDecimals() []byte {
	enc, err := testUSDC.abi.Pack("decimals")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackDecimals is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x313ce567.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function decimals() pure returns(uint8)
func (testUSDC *TestUSDC) TryPackDecimals() ([]byte, error) {
	return testUSDC.abi.Pack("decimals")
}

// UnpackDecimals is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x313ce567.
//
// Solidity: function decimals() pure returns(uint8)
func (testUSDC *TestUSDC) UnpackDecimals(data []byte) (uint8, error) {
	out, err := testUSDC.abi.Unpack("decimals", data)
	if err != nil {
		return *new(uint8), err
	}
	out0 := *abi.ConvertType(out[0], new(uint8)).(*uint8)
	return out0, nil
}

// PackMint is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x40c10f19.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function mint(address to, uint256 value) returns()
func (testUSDC *TestUSDC) PackMint(to common.Address, value *big.Int) []byte {
	enc, err := testUSDC.abi.Pack("mint", to, value)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackMint is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x40c10f19.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function mint(address to, uint256 value) returns()
func (testUSDC *TestUSDC) TryPackMint(to common.Address, value *big.Int) ([]byte, error) {
	return testUSDC.abi.Pack("mint", to, value)
}

// PackName is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x06fdde03.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function name() view returns(string)
func (testUSDC *TestUSDC) PackName() []byte {
	enc, err := testUSDC.abi.Pack("name")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackName is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x06fdde03.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function name() view returns(string)
func (testUSDC *TestUSDC) TryPackName() ([]byte, error) {
	return testUSDC.abi.Pack("name")
}

// UnpackName is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x06fdde03.
//
// Solidity: function name() view returns(string)
func (testUSDC *TestUSDC) UnpackName(data []byte) (string, error) {
	out, err := testUSDC.abi.Unpack("name", data)
	if err != nil {
		return *new(string), err
	}
	out0 := *abi.ConvertType(out[0], new(string)).(*string)
	return out0, nil
}

// PackNonces is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x7ecebe00.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function nonces(address owner) view returns(uint256)
func (testUSDC *TestUSDC) PackNonces(owner common.Address) []byte {
	enc, err := testUSDC.abi.Pack("nonces", owner)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackNonces is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x7ecebe00.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function nonces(address owner) view returns(uint256)
func (testUSDC *TestUSDC) TryPackNonces(owner common.Address) ([]byte, error) {
	return testUSDC.abi.Pack("nonces", owner)
}

// UnpackNonces is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x7ecebe00.
//
// Solidity: function nonces(address owner) view returns(uint256)
func (testUSDC *TestUSDC) UnpackNonces(data []byte) (*big.Int, error) {
	out, err := testUSDC.abi.Unpack("nonces", data)
	if err != nil {
		return new(big.Int), err
	}
	out0 := abi.ConvertType(out[0], new(big.Int)).(*big.Int)
	return out0, nil
}

// PackPermit is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x9fd5a6cf.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function permit(address owner, address spender, uint256 value, uint256 deadline, bytes signature) returns()
func (testUSDC *TestUSDC) PackPermit(owner common.Address, spender common.Address, value *big.Int, deadline *big.Int, signature []byte) []byte {
	enc, err := testUSDC.abi.Pack("permit", owner, spender, value, deadline, signature)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackPermit is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x9fd5a6cf.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function permit(address owner, address spender, uint256 value, uint256 deadline, bytes signature) returns()
func (testUSDC *TestUSDC) TryPackPermit(owner common.Address, spender common.Address, value *big.Int, deadline *big.Int, signature []byte) ([]byte, error) {
	return testUSDC.abi.Pack("permit", owner, spender, value, deadline, signature)
}

// PackPermit0 is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xd505accf.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s) returns()
func (testUSDC *TestUSDC) PackPermit0(owner common.Address, spender common.Address, value *big.Int, deadline *big.Int, v uint8, r [32]byte, s [32]byte) []byte {
	enc, err := testUSDC.abi.Pack("permit0", owner, spender, value, deadline, v, r, s)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackPermit0 is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xd505accf.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s) returns()
func (testUSDC *TestUSDC) TryPackPermit0(owner common.Address, spender common.Address, value *big.Int, deadline *big.Int, v uint8, r [32]byte, s [32]byte) ([]byte, error) {
	return testUSDC.abi.Pack("permit0", owner, spender, value, deadline, v, r, s)
}

// PackReceiveWithAuthorization is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x88b7ab63.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function receiveWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature) returns()
func (testUSDC *TestUSDC) PackReceiveWithAuthorization(from common.Address, to common.Address, value *big.Int, validAfter *big.Int, validBefore *big.Int, nonce [32]byte, signature []byte) []byte {
	enc, err := testUSDC.abi.Pack("receiveWithAuthorization", from, to, value, validAfter, validBefore, nonce, signature)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackReceiveWithAuthorization is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x88b7ab63.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function receiveWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature) returns()
func (testUSDC *TestUSDC) TryPackReceiveWithAuthorization(from common.Address, to common.Address, value *big.Int, validAfter *big.Int, validBefore *big.Int, nonce [32]byte, signature []byte) ([]byte, error) {
	return testUSDC.abi.Pack("receiveWithAuthorization", from, to, value, validAfter, validBefore, nonce, signature)
}

// PackReceiveWithAuthorization0 is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xef55bec6.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function receiveWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) returns()
func (testUSDC *TestUSDC) PackReceiveWithAuthorization0(from common.Address, to common.Address, value *big.Int, validAfter *big.Int, validBefore *big.Int, nonce [32]byte, v uint8, r [32]byte, s [32]byte) []byte {
	enc, err := testUSDC.abi.Pack("receiveWithAuthorization0", from, to, value, validAfter, validBefore, nonce, v, r, s)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackReceiveWithAuthorization0 is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xef55bec6.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function receiveWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) returns()
func (testUSDC *TestUSDC) TryPackReceiveWithAuthorization0(from common.Address, to common.Address, value *big.Int, validAfter *big.Int, validBefore *big.Int, nonce [32]byte, v uint8, r [32]byte, s [32]byte) ([]byte, error) {
	return testUSDC.abi.Pack("receiveWithAuthorization0", from, to, value, validAfter, validBefore, nonce, v, r, s)
}

// PackSymbol is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x95d89b41.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function symbol() view returns(string)
func (testUSDC *TestUSDC) PackSymbol() []byte {
	enc, err := testUSDC.abi.Pack("symbol")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackSymbol is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x95d89b41.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function symbol() view returns(string)
func (testUSDC *TestUSDC) TryPackSymbol() ([]byte, error) {
	return testUSDC.abi.Pack("symbol")
}

// UnpackSymbol is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x95d89b41.
//
// Solidity: function symbol() view returns(string)
func (testUSDC *TestUSDC) UnpackSymbol(data []byte) (string, error) {
	out, err := testUSDC.abi.Unpack("symbol", data)
	if err != nil {
		return *new(string), err
	}
	out0 := *abi.ConvertType(out[0], new(string)).(*string)
	return out0, nil
}

// PackTotalSupply is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x18160ddd.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function totalSupply() view returns(uint256)
func (testUSDC *TestUSDC) PackTotalSupply() []byte {
	enc, err := testUSDC.abi.Pack("totalSupply")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackTotalSupply is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x18160ddd.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function totalSupply() view returns(uint256)
func (testUSDC *TestUSDC) TryPackTotalSupply() ([]byte, error) {
	return testUSDC.abi.Pack("totalSupply")
}

// UnpackTotalSupply is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x18160ddd.
//
// Solidity: function totalSupply() view returns(uint256)
func (testUSDC *TestUSDC) UnpackTotalSupply(data []byte) (*big.Int, error) {
	out, err := testUSDC.abi.Unpack("totalSupply", data)
	if err != nil {
		return new(big.Int), err
	}
	out0 := abi.ConvertType(out[0], new(big.Int)).(*big.Int)
	return out0, nil
}

// PackTransfer is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xa9059cbb.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function transfer(address to, uint256 value) returns(bool)
func (testUSDC *TestUSDC) PackTransfer(to common.Address, value *big.Int) []byte {
	enc, err := testUSDC.abi.Pack("transfer", to, value)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackTransfer is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xa9059cbb.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function transfer(address to, uint256 value) returns(bool)
func (testUSDC *TestUSDC) TryPackTransfer(to common.Address, value *big.Int) ([]byte, error) {
	return testUSDC.abi.Pack("transfer", to, value)
}

// UnpackTransfer is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xa9059cbb.
//
// Solidity: function transfer(address to, uint256 value) returns(bool)
func (testUSDC *TestUSDC) UnpackTransfer(data []byte) (bool, error) {
	out, err := testUSDC.abi.Unpack("transfer", data)
	if err != nil {
		return *new(bool), err
	}
	out0 := *abi.ConvertType(out[0], new(bool)).(*bool)
	return out0, nil
}

// PackTransferFrom is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x23b872dd.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function transferFrom(address from, address to, uint256 value) returns(bool)
func (testUSDC *TestUSDC) PackTransferFrom(from common.Address, to common.Address, value *big.Int) []byte {
	enc, err := testUSDC.abi.Pack("transferFrom", from, to, value)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackTransferFrom is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x23b872dd.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function transferFrom(address from, address to, uint256 value) returns(bool)
func (testUSDC *TestUSDC) TryPackTransferFrom(from common.Address, to common.Address, value *big.Int) ([]byte, error) {
	return testUSDC.abi.Pack("transferFrom", from, to, value)
}

// UnpackTransferFrom is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x23b872dd.
//
// Solidity: function transferFrom(address from, address to, uint256 value) returns(bool)
func (testUSDC *TestUSDC) UnpackTransferFrom(data []byte) (bool, error) {
	out, err := testUSDC.abi.Unpack("transferFrom", data)
	if err != nil {
		return *new(bool), err
	}
	out0 := *abi.ConvertType(out[0], new(bool)).(*bool)
	return out0, nil
}

// PackTransferWithAuthorization is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xcf092995.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature) returns()
func (testUSDC *TestUSDC) PackTransferWithAuthorization(from common.Address, to common.Address, value *big.Int, validAfter *big.Int, validBefore *big.Int, nonce [32]byte, signature []byte) []byte {
	enc, err := testUSDC.abi.Pack("transferWithAuthorization", from, to, value, validAfter, validBefore, nonce, signature)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackTransferWithAuthorization is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xcf092995.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature) returns()
func (testUSDC *TestUSDC) TryPackTransferWithAuthorization(from common.Address, to common.Address, value *big.Int, validAfter *big.Int, validBefore *big.Int, nonce [32]byte, signature []byte) ([]byte, error) {
	return testUSDC.abi.Pack("transferWithAuthorization", from, to, value, validAfter, validBefore, nonce, signature)
}

// PackTransferWithAuthorization0 is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xe3ee160e.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) returns()
func (testUSDC *TestUSDC) PackTransferWithAuthorization0(from common.Address, to common.Address, value *big.Int, validAfter *big.Int, validBefore *big.Int, nonce [32]byte, v uint8, r [32]byte, s [32]byte) []byte {
	enc, err := testUSDC.abi.Pack("transferWithAuthorization0", from, to, value, validAfter, validBefore, nonce, v, r, s)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackTransferWithAuthorization0 is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xe3ee160e.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) returns()
func (testUSDC *TestUSDC) TryPackTransferWithAuthorization0(from common.Address, to common.Address, value *big.Int, validAfter *big.Int, validBefore *big.Int, nonce [32]byte, v uint8, r [32]byte, s [32]byte) ([]byte, error) {
	return testUSDC.abi.Pack("transferWithAuthorization0", from, to, value, validAfter, validBefore, nonce, v, r, s)
}

// PackVersion is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x54fd4d50.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function version() view returns(string)
func (testUSDC *TestUSDC) PackVersion() []byte {
	enc, err := testUSDC.abi.Pack("version")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackVersion is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x54fd4d50.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function version() view returns(string)
func (testUSDC *TestUSDC) TryPackVersion() ([]byte, error) {
	return testUSDC.abi.Pack("version")
}

// UnpackVersion is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x54fd4d50.
//
// Solidity: function version() view returns(string)
func (testUSDC *TestUSDC) UnpackVersion(data []byte) (string, error) {
	out, err := testUSDC.abi.Unpack("version", data)
	if err != nil {
		return *new(string), err
	}
	out0 := *abi.ConvertType(out[0], new(string)).(*string)
	return out0, nil
}

// TestUSDCApproval represents a Approval event raised by the TestUSDC contract.
type TestUSDCApproval struct {
	Owner   common.Address
	Spender common.Address
	Value   *big.Int
	Raw     *types.Log // Blockchain specific contextual infos
}

const TestUSDCApprovalEventName = "Approval"

// ContractEventName returns the user-defined event name.
func (TestUSDCApproval) ContractEventName() string {
	return TestUSDCApprovalEventName
}

// UnpackApprovalEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event Approval(address indexed owner, address indexed spender, uint256 value)
func (testUSDC *TestUSDC) UnpackApprovalEvent(log *types.Log) (*TestUSDCApproval, error) {
	event := "Approval"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != testUSDC.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(TestUSDCApproval)
	if len(log.Data) > 0 {
		if err := testUSDC.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range testUSDC.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// TestUSDCAuthorizationCanceled represents a AuthorizationCanceled event raised by the TestUSDC contract.
type TestUSDCAuthorizationCanceled struct {
	Authorizer common.Address
	Nonce      [32]byte
	Raw        *types.Log // Blockchain specific contextual infos
}

const TestUSDCAuthorizationCanceledEventName = "AuthorizationCanceled"

// ContractEventName returns the user-defined event name.
func (TestUSDCAuthorizationCanceled) ContractEventName() string {
	return TestUSDCAuthorizationCanceledEventName
}

// UnpackAuthorizationCanceledEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce)
func (testUSDC *TestUSDC) UnpackAuthorizationCanceledEvent(log *types.Log) (*TestUSDCAuthorizationCanceled, error) {
	event := "AuthorizationCanceled"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != testUSDC.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(TestUSDCAuthorizationCanceled)
	if len(log.Data) > 0 {
		if err := testUSDC.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range testUSDC.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// TestUSDCAuthorizationUsed represents a AuthorizationUsed event raised by the TestUSDC contract.
type TestUSDCAuthorizationUsed struct {
	Authorizer common.Address
	Nonce      [32]byte
	Raw        *types.Log // Blockchain specific contextual infos
}

const TestUSDCAuthorizationUsedEventName = "AuthorizationUsed"

// ContractEventName returns the user-defined event name.
func (TestUSDCAuthorizationUsed) ContractEventName() string {
	return TestUSDCAuthorizationUsedEventName
}

// UnpackAuthorizationUsedEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)
func (testUSDC *TestUSDC) UnpackAuthorizationUsedEvent(log *types.Log) (*TestUSDCAuthorizationUsed, error) {
	event := "AuthorizationUsed"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != testUSDC.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(TestUSDCAuthorizationUsed)
	if len(log.Data) > 0 {
		if err := testUSDC.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range testUSDC.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// TestUSDCTransfer represents a Transfer event raised by the TestUSDC contract.
type TestUSDCTransfer struct {
	From  common.Address
	To    common.Address
	Value *big.Int
	Raw   *types.Log // Blockchain specific contextual infos
}

const TestUSDCTransferEventName = "Transfer"

// ContractEventName returns the user-defined event name.
func (TestUSDCTransfer) ContractEventName() string {
	return TestUSDCTransferEventName
}

// UnpackTransferEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event Transfer(address indexed from, address indexed to, uint256 value)
func (testUSDC *TestUSDC) UnpackTransferEvent(log *types.Log) (*TestUSDCTransfer, error) {
	event := "Transfer"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != testUSDC.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(TestUSDCTransfer)
	if len(log.Data) > 0 {
		if err := testUSDC.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range testUSDC.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// UnpackError attempts to decode the provided error data using user-defined
// error definitions.
func (testUSDC *TestUSDC) UnpackError(raw []byte) (any, error) {
	if bytes.Equal(raw[:4], testUSDC.abi.Errors["AuthorizationExpired"].ID.Bytes()[:4]) {
		return testUSDC.UnpackAuthorizationExpiredError(raw[4:])
	}
	if bytes.Equal(raw[:4], testUSDC.abi.Errors["AuthorizationNotYetValid"].ID.Bytes()[:4]) {
		return testUSDC.UnpackAuthorizationNotYetValidError(raw[4:])
	}
	if bytes.Equal(raw[:4], testUSDC.abi.Errors["AuthorizationUsedOrCanceled"].ID.Bytes()[:4]) {
		return testUSDC.UnpackAuthorizationUsedOrCanceledError(raw[4:])
	}
	if bytes.Equal(raw[:4], testUSDC.abi.Errors["CallerIsNotPayee"].ID.Bytes()[:4]) {
		return testUSDC.UnpackCallerIsNotPayeeError(raw[4:])
	}
	if bytes.Equal(raw[:4], testUSDC.abi.Errors["ERC20InsufficientAllowance"].ID.Bytes()[:4]) {
		return testUSDC.UnpackERC20InsufficientAllowanceError(raw[4:])
	}
	if bytes.Equal(raw[:4], testUSDC.abi.Errors["ERC20InsufficientBalance"].ID.Bytes()[:4]) {
		return testUSDC.UnpackERC20InsufficientBalanceError(raw[4:])
	}
	if bytes.Equal(raw[:4], testUSDC.abi.Errors["ERC20InvalidApprover"].ID.Bytes()[:4]) {
		return testUSDC.UnpackERC20InvalidApproverError(raw[4:])
	}
	if bytes.Equal(raw[:4], testUSDC.abi.Errors["ERC20InvalidReceiver"].ID.Bytes()[:4]) {
		return testUSDC.UnpackERC20InvalidReceiverError(raw[4:])
	}
	if bytes.Equal(raw[:4], testUSDC.abi.Errors["ERC20InvalidSender"].ID.Bytes()[:4]) {
		return testUSDC.UnpackERC20InvalidSenderError(raw[4:])
	}
	if bytes.Equal(raw[:4], testUSDC.abi.Errors["ERC20InvalidSpender"].ID.Bytes()[:4]) {
		return testUSDC.UnpackERC20InvalidSpenderError(raw[4:])
	}
	if bytes.Equal(raw[:4], testUSDC.abi.Errors["InvalidAccountNonce"].ID.Bytes()[:4]) {
		return testUSDC.UnpackInvalidAccountNonceError(raw[4:])
	}
	if bytes.Equal(raw[:4], testUSDC.abi.Errors["InvalidSignature"].ID.Bytes()[:4]) {
		return testUSDC.UnpackInvalidSignatureError(raw[4:])
	}
	if bytes.Equal(raw[:4], testUSDC.abi.Errors["PermitExpired"].ID.Bytes()[:4]) {
		return testUSDC.UnpackPermitExpiredError(raw[4:])
	}
	return nil, errors.New("Unknown error")
}

// TestUSDCAuthorizationExpired represents a AuthorizationExpired error raised by the TestUSDC contract.
type TestUSDCAuthorizationExpired struct {
	ValidBefore *big.Int
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error AuthorizationExpired(uint256 validBefore)
func TestUSDCAuthorizationExpiredErrorID() common.Hash {
	return common.HexToHash("0x3d91b05fdcd2d1cf4f2afc5066ced64e8f51b3c6231d2520419fdf3611015311")
}

// UnpackAuthorizationExpiredError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error AuthorizationExpired(uint256 validBefore)
func (testUSDC *TestUSDC) UnpackAuthorizationExpiredError(raw []byte) (*TestUSDCAuthorizationExpired, error) {
	out := new(TestUSDCAuthorizationExpired)
	if err := testUSDC.abi.UnpackIntoInterface(out, "AuthorizationExpired", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// TestUSDCAuthorizationNotYetValid represents a AuthorizationNotYetValid error raised by the TestUSDC contract.
type TestUSDCAuthorizationNotYetValid struct {
	ValidAfter *big.Int
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error AuthorizationNotYetValid(uint256 validAfter)
func TestUSDCAuthorizationNotYetValidErrorID() common.Hash {
	return common.HexToHash("0x7a4df07913fa2cec8ed6078f075884f9382e467bee96d3361aa5b2790d69573b")
}

// UnpackAuthorizationNotYetValidError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error AuthorizationNotYetValid(uint256 validAfter)
func (testUSDC *TestUSDC) UnpackAuthorizationNotYetValidError(raw []byte) (*TestUSDCAuthorizationNotYetValid, error) {
	out := new(TestUSDCAuthorizationNotYetValid)
	if err := testUSDC.abi.UnpackIntoInterface(out, "AuthorizationNotYetValid", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// TestUSDCAuthorizationUsedOrCanceled represents a AuthorizationUsedOrCanceled error raised by the TestUSDC contract.
type TestUSDCAuthorizationUsedOrCanceled struct {
	Authorizer common.Address
	Nonce      [32]byte
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error AuthorizationUsedOrCanceled(address authorizer, bytes32 nonce)
func TestUSDCAuthorizationUsedOrCanceledErrorID() common.Hash {
	return common.HexToHash("0x8ef82f7f1bfa895e16bf92f70abe253e4ff843f7d7ef855b69b61792cb510759")
}

// UnpackAuthorizationUsedOrCanceledError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error AuthorizationUsedOrCanceled(address authorizer, bytes32 nonce)
func (testUSDC *TestUSDC) UnpackAuthorizationUsedOrCanceledError(raw []byte) (*TestUSDCAuthorizationUsedOrCanceled, error) {
	out := new(TestUSDCAuthorizationUsedOrCanceled)
	if err := testUSDC.abi.UnpackIntoInterface(out, "AuthorizationUsedOrCanceled", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// TestUSDCCallerIsNotPayee represents a CallerIsNotPayee error raised by the TestUSDC contract.
type TestUSDCCallerIsNotPayee struct {
	Caller common.Address
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error CallerIsNotPayee(address caller)
func TestUSDCCallerIsNotPayeeErrorID() common.Hash {
	return common.HexToHash("0x158259f17879838e11d2eaa48562ce939be780b986a13314f13dccd805bdf4ac")
}

// UnpackCallerIsNotPayeeError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error CallerIsNotPayee(address caller)
func (testUSDC *TestUSDC) UnpackCallerIsNotPayeeError(raw []byte) (*TestUSDCCallerIsNotPayee, error) {
	out := new(TestUSDCCallerIsNotPayee)
	if err := testUSDC.abi.UnpackIntoInterface(out, "CallerIsNotPayee", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// TestUSDCERC20InsufficientAllowance represents a ERC20InsufficientAllowance error raised by the TestUSDC contract.
type TestUSDCERC20InsufficientAllowance struct {
	Spender   common.Address
	Allowance *big.Int
	Needed    *big.Int
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed)
func TestUSDCERC20InsufficientAllowanceErrorID() common.Hash {
	return common.HexToHash("0xfb8f41b23e99d2101d86da76cdfa87dd51c82ed07d3cb62cbc473e469dbc75c3")
}

// UnpackERC20InsufficientAllowanceError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed)
func (testUSDC *TestUSDC) UnpackERC20InsufficientAllowanceError(raw []byte) (*TestUSDCERC20InsufficientAllowance, error) {
	out := new(TestUSDCERC20InsufficientAllowance)
	if err := testUSDC.abi.UnpackIntoInterface(out, "ERC20InsufficientAllowance", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// TestUSDCERC20InsufficientBalance represents a ERC20InsufficientBalance error raised by the TestUSDC contract.
type TestUSDCERC20InsufficientBalance struct {
	Sender  common.Address
	Balance *big.Int
	Needed  *big.Int
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)
func TestUSDCERC20InsufficientBalanceErrorID() common.Hash {
	return common.HexToHash("0xe450d38cd8d9f7d95077d567d60ed49c7254716e6ad08fc9872816c97e0ffec6")
}

// UnpackERC20InsufficientBalanceError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)
func (testUSDC *TestUSDC) UnpackERC20InsufficientBalanceError(raw []byte) (*TestUSDCERC20InsufficientBalance, error) {
	out := new(TestUSDCERC20InsufficientBalance)
	if err := testUSDC.abi.UnpackIntoInterface(out, "ERC20InsufficientBalance", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// TestUSDCERC20InvalidApprover represents a ERC20InvalidApprover error raised by the TestUSDC contract.
type TestUSDCERC20InvalidApprover struct {
	Approver common.Address
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error ERC20InvalidApprover(address approver)
func TestUSDCERC20InvalidApproverErrorID() common.Hash {
	return common.HexToHash("0xe602df05cc75712490294c6c104ab7c17f4030363910a7a2626411c6d3118847")
}

// UnpackERC20InvalidApproverError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error ERC20InvalidApprover(address approver)
func (testUSDC *TestUSDC) UnpackERC20InvalidApproverError(raw []byte) (*TestUSDCERC20InvalidApprover, error) {
	out := new(TestUSDCERC20InvalidApprover)
	if err := testUSDC.abi.UnpackIntoInterface(out, "ERC20InvalidApprover", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// TestUSDCERC20InvalidReceiver represents a ERC20InvalidReceiver error raised by the TestUSDC contract.
type TestUSDCERC20InvalidReceiver struct {
	Receiver common.Address
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error ERC20InvalidReceiver(address receiver)
func TestUSDCERC20InvalidReceiverErrorID() common.Hash {
	return common.HexToHash("0xec442f055133b72f3b2f9f0bb351c406b178527de2040a7d1feb4e058771f613")
}

// UnpackERC20InvalidReceiverError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error ERC20InvalidReceiver(address receiver)
func (testUSDC *TestUSDC) UnpackERC20InvalidReceiverError(raw []byte) (*TestUSDCERC20InvalidReceiver, error) {
	out := new(TestUSDCERC20InvalidReceiver)
	if err := testUSDC.abi.UnpackIntoInterface(out, "ERC20InvalidReceiver", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// TestUSDCERC20InvalidSender represents a ERC20InvalidSender error raised by the TestUSDC contract.
type TestUSDCERC20InvalidSender struct {
	Sender common.Address
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error ERC20InvalidSender(address sender)
func TestUSDCERC20InvalidSenderErrorID() common.Hash {
	return common.HexToHash("0x96c6fd1edd0cd6ef7ff0ecc0facdf53148dc0048b57fe58af65755250a7a96bd")
}

// UnpackERC20InvalidSenderError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error ERC20InvalidSender(address sender)
func (testUSDC *TestUSDC) UnpackERC20InvalidSenderError(raw []byte) (*TestUSDCERC20InvalidSender, error) {
	out := new(TestUSDCERC20InvalidSender)
	if err := testUSDC.abi.UnpackIntoInterface(out, "ERC20InvalidSender", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// TestUSDCERC20InvalidSpender represents a ERC20InvalidSpender error raised by the TestUSDC contract.
type TestUSDCERC20InvalidSpender struct {
	Spender common.Address
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error ERC20InvalidSpender(address spender)
func TestUSDCERC20InvalidSpenderErrorID() common.Hash {
	return common.HexToHash("0x94280d62c347d8d9f4d59a76ea321452406db88df38e0c9da304f58b57b373a2")
}

// UnpackERC20InvalidSpenderError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error ERC20InvalidSpender(address spender)
func (testUSDC *TestUSDC) UnpackERC20InvalidSpenderError(raw []byte) (*TestUSDCERC20InvalidSpender, error) {
	out := new(TestUSDCERC20InvalidSpender)
	if err := testUSDC.abi.UnpackIntoInterface(out, "ERC20InvalidSpender", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// TestUSDCInvalidAccountNonce represents a InvalidAccountNonce error raised by the TestUSDC contract.
type TestUSDCInvalidAccountNonce struct {
	Account      common.Address
	CurrentNonce *big.Int
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error InvalidAccountNonce(address account, uint256 currentNonce)
func TestUSDCInvalidAccountNonceErrorID() common.Hash {
	return common.HexToHash("0x752d88c0de02638abf10e8e31861e4c68dc1f3a1e7d840e580683f2c282bfc7a")
}

// UnpackInvalidAccountNonceError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error InvalidAccountNonce(address account, uint256 currentNonce)
func (testUSDC *TestUSDC) UnpackInvalidAccountNonceError(raw []byte) (*TestUSDCInvalidAccountNonce, error) {
	out := new(TestUSDCInvalidAccountNonce)
	if err := testUSDC.abi.UnpackIntoInterface(out, "InvalidAccountNonce", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// TestUSDCInvalidSignature represents a InvalidSignature error raised by the TestUSDC contract.
type TestUSDCInvalidSignature struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error InvalidSignature()
func TestUSDCInvalidSignatureErrorID() common.Hash {
	return common.HexToHash("0x8baa579fce362245063d36f11747a89dd489c54795634fc673cc0e0db51fedc5")
}

// UnpackInvalidSignatureError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error InvalidSignature()
func (testUSDC *TestUSDC) UnpackInvalidSignatureError(raw []byte) (*TestUSDCInvalidSignature, error) {
	out := new(TestUSDCInvalidSignature)
	if err := testUSDC.abi.UnpackIntoInterface(out, "InvalidSignature", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// TestUSDCPermitExpired represents a PermitExpired error raised by the TestUSDC contract.
type TestUSDCPermitExpired struct {
	Deadline *big.Int
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error PermitExpired(uint256 deadline)
func TestUSDCPermitExpiredErrorID() common.Hash {
	return common.HexToHash("0x9e96b26fa430cdb94aa7d06991102a0577730e9f5f52f05b4f010c56a086c2ad")
}

// UnpackPermitExpiredError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error PermitExpired(uint256 deadline)
func (testUSDC *TestUSDC) UnpackPermitExpiredError(raw []byte) (*TestUSDCPermitExpired, error) {
	out := new(TestUSDCPermitExpired)
	if err := testUSDC.abi.UnpackIntoInterface(out, "PermitExpired", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// TestUptoProxyMetaData contains all meta data concerning the TestUptoProxy contract.
var TestUptoProxyMetaData = bind.MetaData{
	ABI: "[{\"inputs\":[],\"name\":\"AmountExceedsPermitted\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"InvalidDestination\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"InvalidOwner\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"PaymentTooEarly\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"UnauthorizedFacilitator\",\"type\":\"error\"},{\"anonymous\":false,\"inputs\":[],\"name\":\"Settled\",\"type\":\"event\"},{\"inputs\":[],\"name\":\"PERMIT2\",\"outputs\":[{\"internalType\":\"contractTestPermit2\",\"name\":\"\",\"type\":\"address\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"WITNESS_TYPEHASH\",\"outputs\":[{\"internalType\":\"bytes32\",\"name\":\"\",\"type\":\"bytes32\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"WITNESS_TYPE_STRING\",\"outputs\":[{\"internalType\":\"string\",\"name\":\"\",\"type\":\"string\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"components\":[{\"components\":[{\"internalType\":\"address\",\"name\":\"token\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"amount\",\"type\":\"uint256\"}],\"internalType\":\"structTestPermit2.TokenPermissions\",\"name\":\"permitted\",\"type\":\"tuple\"},{\"internalType\":\"uint256\",\"name\":\"nonce\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"deadline\",\"type\":\"uint256\"}],\"internalType\":\"structTestPermit2.PermitTransferFrom\",\"name\":\"permit\",\"type\":\"tuple\"},{\"internalType\":\"uint256\",\"name\":\"amount\",\"type\":\"uint256\"},{\"internalType\":\"address\",\"name\":\"owner\",\"type\":\"address\"},{\"components\":[{\"internalType\":\"address\",\"name\":\"to\",\"type\":\"address\"},{\"internalType\":\"address\",\"name\":\"facilitator\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"validAfter\",\"type\":\"uint256\"}],\"internalType\":\"structTestUptoProxy.Witness\",\"name\":\"witness\",\"type\":\"tuple\"},{\"internalType\":\"bytes\",\"name\":\"signature\",\"type\":\"bytes\"}],\"name\":\"settle\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"}]",
	ID:  "TestUptoProxy",
	Bin: "0x6080604052348015600e575f5ffd5b5061073f8061001c5f395ff3fe608060405234801561000f575f5ffd5b506004361061004a575f3560e01c8063156e21521461004e5780632c03ae6a1461006c5780636afdd850146100a1578063ff11e7b4146100dc575b5f5ffd5b6100566100f1565b6040516100639190610487565b60405180910390f35b6100937fd4171c445a74218b01d4fd8af34ff1106580ea1e36ff837e64484bfaa2253b7581565b604051908152602001610063565b6100b76e22d473030f116ddee9f6b43ac78ba381565b60405173ffffffffffffffffffffffffffffffffffffffff9091168152602001610063565b6100ef6100ea3660046104c8565b61010d565b005b6040518060a00160405280607881526020016106c76078913981565b602086013585111561014b576040517ffe64b4c700000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b73ffffffffffffffffffffffffffffffffffffffff8416610198576040517f49e27cff00000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b5f6101a660208501856105a0565b73ffffffffffffffffffffffffffffffffffffffff16036101f3576040517fac6b05f500000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b61020360408401602085016105a0565b73ffffffffffffffffffffffffffffffffffffffff163373ffffffffffffffffffffffffffffffffffffffff1614610267576040517f0f6fae8700000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b82604001354210156102a5576040517fa65539fa00000000000000000000000000000000000000000000000000000000815260040160405180910390fd5b5f7fd4171c445a74218b01d4fd8af34ff1106580ea1e36ff837e64484bfaa2253b756102d460208601866105a0565b6102e460408701602088016105a0565b60408051602081019490945273ffffffffffffffffffffffffffffffffffffffff9283168482015291166060830152850135608082015260a0016040516020818303038152906040528051906020012090506e22d473030f116ddee9f6b43ac78ba373ffffffffffffffffffffffffffffffffffffffff1663137c29fe886040518060400160405280885f01602081019061037f91906105a0565b73ffffffffffffffffffffffffffffffffffffffff1681526020018a81525088856040518060a00160405280607881526020016106c76078913989896040518863ffffffff1660e01b81526004016103dd9796959493929190610600565b5f604051808303815f87803b1580156103f4575f5ffd5b505af1158015610406573d5f5f3e3d5ffd5b50506040517f97088ec3606cfe8cc112180570d03fcde05f9b8e1bfef8e27784eaf5dd5691b692505f9150a150505050505050565b5f81518084528060208401602086015e5f6020828601015260207fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe0601f83011685010191505092915050565b602081525f610499602083018461043b565b9392505050565b803573ffffffffffffffffffffffffffffffffffffffff811681146104c3575f5ffd5b919050565b5f5f5f5f5f5f8688036101408112156104df575f5ffd5b60808112156104ec575f5ffd5b8796506080870135955061050260a088016104a0565b945060607fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff4082011215610533575f5ffd5b5060c08701925061012087013567ffffffffffffffff811115610554575f5ffd5b8701601f81018913610564575f5ffd5b803567ffffffffffffffff81111561057a575f5ffd5b89602082840101111561058b575f5ffd5b60208201935080925050509295509295509295565b5f602082840312156105b0575f5ffd5b610499826104a0565b81835281816020850137505f602082840101525f60207fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe0601f840116840101905092915050565b73ffffffffffffffffffffffffffffffffffffffff61061e896104a0565b168152602088810135818301526040808a0135908301526060808a013590830152875173ffffffffffffffffffffffffffffffffffffffff16608083015287015160a08201525f61068760c083018873ffffffffffffffffffffffffffffffffffffffff169052565b8560e08301526101406101008301526106a461014083018661043b565b8281036101208401526106b88185876105b9565b9a995050505050505050505056fe5769746e657373207769746e65737329546f6b656e5065726d697373696f6e73286164647265737320746f6b656e2c75696e7432353620616d6f756e74295769746e657373286164647265737320746f2c6164647265737320666163696c697461746f722c75696e743235362076616c6964416674657229",
}

// TestUptoProxy is an auto generated Go binding around an Ethereum contract.
type TestUptoProxy struct {
	abi abi.ABI
}

// GetABI returns the ABI associated with this contract binding.
func (c *TestUptoProxy) GetABI() abi.ABI {
	return c.abi
}

// NewTestUptoProxy creates a new instance of TestUptoProxy.
func NewTestUptoProxy() *TestUptoProxy {
	parsed, err := TestUptoProxyMetaData.ParseABI()
	if err != nil {
		panic(errors.New("invalid ABI: " + err.Error()))
	}
	return &TestUptoProxy{abi: *parsed}
}

// Instance creates a wrapper for a deployed contract instance at the given address.
// Use this to create the instance object passed to abigen v2 library functions Call, Transact, etc.
func (c *TestUptoProxy) Instance(backend bind.ContractBackend, addr common.Address) *bind.BoundContract {
	return bind.NewBoundContract(addr, c.abi, backend, backend, backend)
}

// PackPERMIT2 is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x6afdd850.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function PERMIT2() view returns(address)
func (testUptoProxy *TestUptoProxy) PackPERMIT2() []byte {
	enc, err := testUptoProxy.abi.Pack("PERMIT2")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackPERMIT2 is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x6afdd850.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function PERMIT2() view returns(address)
func (testUptoProxy *TestUptoProxy) TryPackPERMIT2() ([]byte, error) {
	return testUptoProxy.abi.Pack("PERMIT2")
}

// UnpackPERMIT2 is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x6afdd850.
//
// Solidity: function PERMIT2() view returns(address)
func (testUptoProxy *TestUptoProxy) UnpackPERMIT2(data []byte) (common.Address, error) {
	out, err := testUptoProxy.abi.Unpack("PERMIT2", data)
	if err != nil {
		return *new(common.Address), err
	}
	out0 := *abi.ConvertType(out[0], new(common.Address)).(*common.Address)
	return out0, nil
}

// PackWITNESSTYPEHASH is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x2c03ae6a.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function WITNESS_TYPEHASH() view returns(bytes32)
func (testUptoProxy *TestUptoProxy) PackWITNESSTYPEHASH() []byte {
	enc, err := testUptoProxy.abi.Pack("WITNESS_TYPEHASH")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackWITNESSTYPEHASH is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x2c03ae6a.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function WITNESS_TYPEHASH() view returns(bytes32)
func (testUptoProxy *TestUptoProxy) TryPackWITNESSTYPEHASH() ([]byte, error) {
	return testUptoProxy.abi.Pack("WITNESS_TYPEHASH")
}

// UnpackWITNESSTYPEHASH is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x2c03ae6a.
//
// Solidity: function WITNESS_TYPEHASH() view returns(bytes32)
func (testUptoProxy *TestUptoProxy) UnpackWITNESSTYPEHASH(data []byte) ([32]byte, error) {
	out, err := testUptoProxy.abi.Unpack("WITNESS_TYPEHASH", data)
	if err != nil {
		return *new([32]byte), err
	}
	out0 := *abi.ConvertType(out[0], new([32]byte)).(*[32]byte)
	return out0, nil
}

// PackWITNESSTYPESTRING is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x156e2152.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function WITNESS_TYPE_STRING() view returns(string)
func (testUptoProxy *TestUptoProxy) PackWITNESSTYPESTRING() []byte {
	enc, err := testUptoProxy.abi.Pack("WITNESS_TYPE_STRING")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackWITNESSTYPESTRING is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x156e2152.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function WITNESS_TYPE_STRING() view returns(string)
func (testUptoProxy *TestUptoProxy) TryPackWITNESSTYPESTRING() ([]byte, error) {
	return testUptoProxy.abi.Pack("WITNESS_TYPE_STRING")
}

// UnpackWITNESSTYPESTRING is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x156e2152.
//
// Solidity: function WITNESS_TYPE_STRING() view returns(string)
func (testUptoProxy *TestUptoProxy) UnpackWITNESSTYPESTRING(data []byte) (string, error) {
	out, err := testUptoProxy.abi.Unpack("WITNESS_TYPE_STRING", data)
	if err != nil {
		return *new(string), err
	}
	out0 := *abi.ConvertType(out[0], new(string)).(*string)
	return out0, nil
}

// PackSettle is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xff11e7b4.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function settle(((address,uint256),uint256,uint256) permit, uint256 amount, address owner, (address,address,uint256) witness, bytes signature) returns()
func (testUptoProxy *TestUptoProxy) PackSettle(permit TestPermit2PermitTransferFrom, amount *big.Int, owner common.Address, witness TestUptoProxyWitness, signature []byte) []byte {
	enc, err := testUptoProxy.abi.Pack("settle", permit, amount, owner, witness, signature)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackSettle is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xff11e7b4.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function settle(((address,uint256),uint256,uint256) permit, uint256 amount, address owner, (address,address,uint256) witness, bytes signature) returns()
func (testUptoProxy *TestUptoProxy) TryPackSettle(permit TestPermit2PermitTransferFrom, amount *big.Int, owner common.Address, witness TestUptoProxyWitness, signature []byte) ([]byte, error) {
	return testUptoProxy.abi.Pack("settle", permit, amount, owner, witness, signature)
}

// TestUptoProxySettled represents a Settled event raised by the TestUptoProxy contract.
type TestUptoProxySettled struct {
	Raw *types.Log // Blockchain specific contextual infos
}

const TestUptoProxySettledEventName = "Settled"

// ContractEventName returns the user-defined event name.
func (TestUptoProxySettled) ContractEventName() string {
	return TestUptoProxySettledEventName
}

// UnpackSettledEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event Settled()
func (testUptoProxy *TestUptoProxy) UnpackSettledEvent(log *types.Log) (*TestUptoProxySettled, error) {
	event := "Settled"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != testUptoProxy.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(TestUptoProxySettled)
	if len(log.Data) > 0 {
		if err := testUptoProxy.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range testUptoProxy.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// UnpackError attempts to decode the provided error data using user-defined
// error definitions.
func (testUptoProxy *TestUptoProxy) UnpackError(raw []byte) (any, error) {
	if bytes.Equal(raw[:4], testUptoProxy.abi.Errors["AmountExceedsPermitted"].ID.Bytes()[:4]) {
		return testUptoProxy.UnpackAmountExceedsPermittedError(raw[4:])
	}
	if bytes.Equal(raw[:4], testUptoProxy.abi.Errors["InvalidDestination"].ID.Bytes()[:4]) {
		return testUptoProxy.UnpackInvalidDestinationError(raw[4:])
	}
	if bytes.Equal(raw[:4], testUptoProxy.abi.Errors["InvalidOwner"].ID.Bytes()[:4]) {
		return testUptoProxy.UnpackInvalidOwnerError(raw[4:])
	}
	if bytes.Equal(raw[:4], testUptoProxy.abi.Errors["PaymentTooEarly"].ID.Bytes()[:4]) {
		return testUptoProxy.UnpackPaymentTooEarlyError(raw[4:])
	}
	if bytes.Equal(raw[:4], testUptoProxy.abi.Errors["UnauthorizedFacilitator"].ID.Bytes()[:4]) {
		return testUptoProxy.UnpackUnauthorizedFacilitatorError(raw[4:])
	}
	return nil, errors.New("Unknown error")
}

// TestUptoProxyAmountExceedsPermitted represents a AmountExceedsPermitted error raised by the TestUptoProxy contract.
type TestUptoProxyAmountExceedsPermitted struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error AmountExceedsPermitted()
func TestUptoProxyAmountExceedsPermittedErrorID() common.Hash {
	return common.HexToHash("0xfe64b4c79c64499c7b848a8b3ba618f45c6f9ef21365d5d7e24aeb3ff041c552")
}

// UnpackAmountExceedsPermittedError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error AmountExceedsPermitted()
func (testUptoProxy *TestUptoProxy) UnpackAmountExceedsPermittedError(raw []byte) (*TestUptoProxyAmountExceedsPermitted, error) {
	out := new(TestUptoProxyAmountExceedsPermitted)
	if err := testUptoProxy.abi.UnpackIntoInterface(out, "AmountExceedsPermitted", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// TestUptoProxyInvalidDestination represents a InvalidDestination error raised by the TestUptoProxy contract.
type TestUptoProxyInvalidDestination struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error InvalidDestination()
func TestUptoProxyInvalidDestinationErrorID() common.Hash {
	return common.HexToHash("0xac6b05f542ae1b66b4b43710bf4773616692aad79ee0fe8cb9c5db0f38dd0764")
}

// UnpackInvalidDestinationError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error InvalidDestination()
func (testUptoProxy *TestUptoProxy) UnpackInvalidDestinationError(raw []byte) (*TestUptoProxyInvalidDestination, error) {
	out := new(TestUptoProxyInvalidDestination)
	if err := testUptoProxy.abi.UnpackIntoInterface(out, "InvalidDestination", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// TestUptoProxyInvalidOwner represents a InvalidOwner error raised by the TestUptoProxy contract.
type TestUptoProxyInvalidOwner struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error InvalidOwner()
func TestUptoProxyInvalidOwnerErrorID() common.Hash {
	return common.HexToHash("0x49e27cffb37b1ca4a9bf5318243b2014d13f940af232b8552c208bdea15739da")
}

// UnpackInvalidOwnerError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error InvalidOwner()
func (testUptoProxy *TestUptoProxy) UnpackInvalidOwnerError(raw []byte) (*TestUptoProxyInvalidOwner, error) {
	out := new(TestUptoProxyInvalidOwner)
	if err := testUptoProxy.abi.UnpackIntoInterface(out, "InvalidOwner", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// TestUptoProxyPaymentTooEarly represents a PaymentTooEarly error raised by the TestUptoProxy contract.
type TestUptoProxyPaymentTooEarly struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error PaymentTooEarly()
func TestUptoProxyPaymentTooEarlyErrorID() common.Hash {
	return common.HexToHash("0xa65539fa34358c9b74d7a9931e9f563c9c02f41d47fa53ce79e35e1cadee70d6")
}

// UnpackPaymentTooEarlyError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error PaymentTooEarly()
func (testUptoProxy *TestUptoProxy) UnpackPaymentTooEarlyError(raw []byte) (*TestUptoProxyPaymentTooEarly, error) {
	out := new(TestUptoProxyPaymentTooEarly)
	if err := testUptoProxy.abi.UnpackIntoInterface(out, "PaymentTooEarly", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// TestUptoProxyUnauthorizedFacilitator represents a UnauthorizedFacilitator error raised by the TestUptoProxy contract.
type TestUptoProxyUnauthorizedFacilitator struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error UnauthorizedFacilitator()
func TestUptoProxyUnauthorizedFacilitatorErrorID() common.Hash {
	return common.HexToHash("0x0f6fae871871fa0fd46c599941c98ffc4031e3ee5fe33675d627b18699e5ae52")
}

// UnpackUnauthorizedFacilitatorError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error UnauthorizedFacilitator()
func (testUptoProxy *TestUptoProxy) UnpackUnauthorizedFacilitatorError(raw []byte) (*TestUptoProxyUnauthorizedFacilitator, error) {
	out := new(TestUptoProxyUnauthorizedFacilitator)
	if err := testUptoProxy.abi.UnpackIntoInterface(out, "UnauthorizedFacilitator", raw); err != nil {
		return nil, err
	}
	return out, nil
}
