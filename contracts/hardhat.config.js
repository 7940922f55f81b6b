import { fileURLToPath } from 'node:url';
import { defineConfig } from 'hardhat/config';

// Fuzz and invariant tests of the contracts, with the compiler of package.json: no
// network. What is compiled here stays in .hardhat; artifacts/ is compile.mjs's.
// PAYWARRANT_FUZZ_RUNS makes it quicker.
const runs = Number(process.env.PAYWARRANT_FUZZ_RUNS ?? 10000);

export default defineConfig({
  solidity: {
    compilers: [{
      version: '0.8.30',
      path: fileURLToPath(new URL('./node_modules/solc/soljson.js', import.meta.url)),
      settings: { optimizer: { enabled: true, runs: 10000 }, evmVersion: 'cancun' },
    }],
  },
  paths: { sources: 'src', tests: { solidity: 'test' }, artifacts: '.hardhat/artifacts', cache: '.hardhat/cache' },
  coverage: { skipFiles: ['src/testing/**'] }, // what only tests use
  test: {
    solidity: {
      fuzz: { runs, maxTestRejects: 1000000 },
      invariant: { runs: Math.max(16, Math.ceil(runs / 78)), depth: 64, failOnRevert: false },
    },
  },
});
