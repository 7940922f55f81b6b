// Compiles src/ into artifacts/, one JSON file a contract. With --check it writes
// nothing, and fails where an artifact differs from what would be written.
import { readFileSync, writeFileSync, readdirSync, mkdirSync, existsSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(fileURLToPath(import.meta.url));
const solc = createRequire(import.meta.url)('solc');
const check = process.argv.includes('--check');

const files = (dir) => readdirSync(join(root, dir), { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? files(`${dir}/${entry.name}`) : entry.name.endsWith('.sol') ? [`${dir}/${entry.name}`] : []);

// The same input gives the same bytes on every machine: no metadata hash, which
// would name paths.
const settings = {
  optimizer: { enabled: true, runs: 10000 },
  evmVersion: 'cancun',
  metadata: { bytecodeHash: 'none', appendCBOR: false },
  outputSelection: {
    '*': { '*': ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object', 'evm.deployedBytecode.immutableReferences', 'storageLayout'] },
  },
};

const sources = Object.fromEntries(files('src').sort().map((f) => [f, { content: readFileSync(join(root, f), 'utf8') }]));
const find = (path) => {
  const file = join(root, 'node_modules', path);
  return existsSync(file) ? { contents: readFileSync(file, 'utf8') } : { error: `no ${path}` };
};
const output = JSON.parse(solc.compile(JSON.stringify({ language: 'Solidity', sources, settings }), { import: find }));

for (const e of output.errors ?? []) console.error(e.formattedMessage);
if (output.errors?.length) process.exit(1);

const artifacts = new Map();
for (const source of Object.keys(sources)) {
  for (const [name, c] of Object.entries(output.contracts[source] ?? {})) {
    const code = c.evm.bytecode.object;
    if (c.abi.length === 0) continue; // a library of internal functions
    artifacts.set(`${name}.json`, JSON.stringify({
      contract: name, source, compiler: solc.version(),
      abi: c.abi, bytecode: `0x${code}`, runtime: `0x${c.evm.deployedBytecode.object}`,
      immutables: Object.keys(c.evm.deployedBytecode.immutableReferences ?? {}).length,
      storage: c.storageLayout.storage.map(({ label, slot, offset }) => ({ label, slot, offset })),
    }, null, 1) + '\n');
  }
}

const folder = join(root, 'artifacts');
mkdirSync(folder, { recursive: true });
let stale = 0;
for (const [name, text] of artifacts) {
  const path = join(folder, name);
  if (existsSync(path) && readFileSync(path, 'utf8') === text) continue;
  stale++;
  if (check) console.error(`${relative(root, path)} is not what src/ compiles to`);
  else writeFileSync(path, text);
}
for (const name of readdirSync(folder).filter((n) => !artifacts.has(n))) {
  stale++;
  if (check) console.error(`artifacts/${name} has no source`);
  else rmSync(join(folder, name));
}
console.log(`${artifacts.size} contracts, ${stale} ${check ? 'stale' : 'written'}`);
if (check && stale) process.exit(1);
