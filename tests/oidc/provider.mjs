// An OpenID provider on this machine: node provider.mjs LIBRARY PORT RETURNS_TO [conform]
// Anyone can sign in, with any password: the name is the address, and that of "unverified…" is not verified.
// Its keys are new at each start.  With "conform", an ID token holds an address only if the request names that claim.
import { createServer } from 'node:http';
import { generateKeyPairSync, randomUUID } from 'node:crypto';

const [library, port, returnsTo, mode] = process.argv.slice(2);
const { default: Provider } = await import(library);
const issuer = `http://localhost:${port}`;
const device = 'urn:ietf:params:oauth:grant-type:device_code';

function key(kind, options, alg) {
  const { privateKey } = generateKeyPairSync(kind, options);
  return { ...privateKey.export({ format: 'jwk' }), use: 'sig', alg, kid: randomUUID() };
}

const client = {
  client_id: 'lapwing',
  client_secret: 'a-secret-of-the-tests:with/odd+signs',
  redirect_uris: [returnsTo],
  post_logout_redirect_uris: [new URL('/sign-in', returnsTo).href],
};
const clients = [
  client,
  { ...client, client_id: 'lapwing-post', token_endpoint_auth_method: 'client_secret_post' },
  { ...client, client_id: 'lapwing-es', id_token_signed_response_alg: 'ES256' },
  { ...client, client_id: 'lapwing-hmac', id_token_signed_response_alg: 'HS256' },
  {
    client_id: 'lapwing-terminal',
    token_endpoint_auth_method: 'none',
    application_type: 'native',
    grant_types: [device],
    response_types: [],
    redirect_uris: [],
  },
];
const provider = new Provider(issuer, {
  clients,
  jwks: { keys: [key('rsa', { modulusLength: 2048 }, 'RS256'), key('ec', { namedCurve: 'P-256' }, 'ES256')] },
  claims: { openid: ['sub'], email: ['email', 'email_verified'] },
  conformIdTokenClaims: mode === 'conform',
  enabledJWA: { idTokenSigningAlgValues: ['RS256', 'ES256', 'HS256'] },
  features: { deviceFlow: { enabled: true }, claimsParameter: { enabled: mode === 'conform' } },
  findAccount: (_, name) => ({
    accountId: name,
    claims: () => ({ sub: name, email: name, email_verified: !name.startsWith('unverified') }),
  }),
  ttl: { Interaction: 600, Session: 600, Grant: 600, IdToken: 300, DeviceCode: 300, AccessToken: 300 },
});
createServer(provider.callback()).listen(Number(port), '127.0.0.1', () => console.log(issuer));
