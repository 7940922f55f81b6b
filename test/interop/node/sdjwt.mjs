// Verifies and issues SD-JWT VCs with @sd-jwt/sd-jwt-vc. One request as JSON on
// standard input, one answer as JSON on standard output.
import { createHash, createPrivateKey, createPublicKey, randomBytes, sign, verify } from 'node:crypto';
import { SDJwtVcInstance } from '@sd-jwt/sd-jwt-vc';

const es256 = (jwk) => (data) =>
  sign('sha256', Buffer.from(data), { key: createPrivateKey({ key: jwk, format: 'jwk' }), dsaEncoding: 'ieee-p1363' }).toString('base64url');

const checks = (jwk, data, signature) =>
  verify('sha256', Buffer.from(data), { key: createPublicKey({ key: jwk, format: 'jwk' }), dsaEncoding: 'ieee-p1363' }, Buffer.from(signature, 'base64url'));

const hasher = (data, alg) => new Uint8Array(createHash(alg.replace('-', '')).update(typeof data === 'string' ? data : Buffer.from(data)).digest());

const base = { hasher, hashAlg: 'sha-256', saltGenerator: (n) => randomBytes(n).toString('base64url') };

// The issuer's key is found by the kid of the header.
const byKid = (keys) => (data, signature) => {
  const { kid } = JSON.parse(Buffer.from(data.split('.')[0], 'base64url'));
  const jwk = keys.find((k) => k.kid === kid);
  return jwk !== undefined && checks(jwk, data, signature);
};

const requests = {
  async verify({ token, jwks, nonce }) {
    const vc = new SDJwtVcInstance({
      ...base,
      verifier: byKid(jwks.keys),
      statusVerifier: byKid(jwks.keys),
      kbVerifier: (data, signature, payload) => checks(payload.cnf.jwk, data, signature),
    });
    const { payload, header, kb } = await vc.verify(token, { keyBindingNonce: nonce });
    return { payload, header, kb: kb?.payload };
  },
  async issue({ payload, frame, show, issuer, kid, holder, kb }) {
    const vc = new SDJwtVcInstance({ ...base, signer: es256(issuer), signAlg: 'ES256', kbSigner: holder && es256(holder), kbSignAlg: 'ES256' });
    const token = await vc.issue(payload, frame, { header: { kid } });
    return { token: show || kb ? await vc.present(token, show, kb && { kb: { payload: kb } }) : token };
  },
};

let text = '';
for await (const chunk of process.stdin) text += chunk;
const request = JSON.parse(text);
let answer;
try {
  answer = await requests[request.do](request);
} catch (e) {
  answer = { error: String(e.message ?? e) };
}
process.stdout.write(JSON.stringify(answer));
