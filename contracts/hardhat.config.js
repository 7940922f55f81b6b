import { fileURLToPath } from 'node:url';
import { defineConfig } from 'hardhat/config';

// Fuzz and invariant tests of the contracts, with the compiler of package.json: no
// network. What is compiled here stays in .hardhat; artifacts/ is compile.mjs's.
export default defineConfig({
  solidity: {
    compilers: [{
      version: '0.8.30',
      path: fileURLToPath(new URL('./node_modules/solc/soljson.js', import.meta.url)),
      settings: { optimizer: { enabled: true, runs: 10000 }, evmVersion: 'cancun' },
    }],
  },
  paths: { sources: 'src', tests: { solidity: 'test' }, artifacts: '.hardhat/artifacts', cache: '.hardhat/cache' },
  test: {
    solidity: {
      fuzz: { runs: 10000, maxTestRejects: 1000000 },
      invariant: { runs: 128, depth: 64, failOnRevert: false },
    },
  },
});
