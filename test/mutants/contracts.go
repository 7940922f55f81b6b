package main

const router = "contracts/src/MandateRouter.sol"

// The tests of Solidity mutants are Hardhat's own.
var contractMutants = []mutant{
	{file: router, bug: "a charge at the moment of expiry", old: "if (block.timestamp >= m.expiresAt) revert Expired", new: "if (block.timestamp > m.expiresAt) revert Expired"},
	{file: router, bug: "a grant that has expired already", old: "g.expiresAt <= block.timestamp", new: "g.expiresAt < block.timestamp"},
	{file: router, bug: "the reference is written after the transfer", old: "        _charges[grantId][ref] = wanted;\n        emit Charged(grantId, ref, payee, amount, month, spent);\n        IERC20(m.token).safeTransferFrom(m.owner, payee, amount);", new: "        emit Charged(grantId, ref, payee, amount, month, spent);\n        IERC20(m.token).safeTransferFrom(m.owner, payee, amount);\n        _charges[grantId][ref] = wanted;"},
	{file: router, bug: "refuse emits no owner", old: "        _mandates[grantId].owner = msg.sender;\n", new: ""},
	{file: router, bug: "the reference is not bound to the payee", old: "keccak256(abi.encode(payee, amount))", new: "keccak256(abi.encode(payee == address(0) ? payee : address(1), amount))"},
	{file: router, bug: "the reference is not bound to the amount", old: "keccak256(abi.encode(payee, amount))", new: "keccak256(abi.encode(payee, amount == 0 ? amount : 1))"},
	{file: router, bug: "a token that returns false is believed", old: "IERC20(m.token).safeTransferFrom(m.owner, payee, amount);", new: "IERC20(m.token).transferFrom(m.owner, payee, amount);"},
	{file: router, bug: "anybody may bring a charge", old: "if (!isOperator[msg.sender]) revert NotOperator(msg.sender);", new: ""},
	{file: router, bug: "the session key's signature is not checked", old: "if (err != ECDSA.RecoverError.NoError || signer != key) revert BadSignature();", new: "key;"},
	{file: router, bug: "the deadline is ignored", old: "if (block.timestamp > deadline) revert DeadlinePassed(deadline);", new: ""},
	{file: router, bug: "the month does not reset", old: "spent = month == m.month ? m.spent : 0;", new: "spent = m.spent;"},
	{file: router, bug: "the month always resets", old: "spent = month == m.month ? m.spent : 0;", new: "spent = 0;"},
	{file: router, bug: "the cap of a charge is exclusive", old: "if (amount > m.maxPerCharge)", new: "if (amount >= m.maxPerCharge)"},
	{file: router, bug: "revoked grants are charged", old: "if (m.state == State.Revoked) revert Revoked(grantId);", new: ""},
	{file: router, bug: "payees are ignored", old: "bool allowed = m.anyPayee || _payees[grantId][payee];", new: "bool allowed = true;"},
	{file: router, bug: "anybody may revoke", old: "if (msg.sender != owner_ && !isOperator[msg.sender]) revert NotRevoker(msg.sender);", new: ""},
	{file: router, bug: "anybody may grant for another", old: "if (msg.sender != g.owner) revert BadSignature();", new: ""},
	{file: router, bug: "a revoked grant can be granted again", old: "if (_mandates[grantId].state != State.None) revert GrantExists(grantId);", new: "if (_mandates[grantId].state == State.Active) revert GrantExists(grantId);"},
	{file: router, bug: "a grant's id is the same on every chain", old: "abi.encode(block.chainid, address(this), owner_, salt)", new: "abi.encode(address(this), owner_, salt)"},
	{file: router, bug: "a grant's id is the same on every router", old: "abi.encode(block.chainid, address(this), owner_, salt)", new: "abi.encode(block.chainid, owner_, salt)"},
	{file: router, bug: "no payees and not any payee", old: "|| g.anyPayee != (g.payees.length == 0)", new: ""},
}
