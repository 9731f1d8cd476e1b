// Runs an OpenID Connect provider on loopback in a separate process. Everybody is signed in as the person in the last
// `PUT /person` request. The program's argument is the redirect address of the client. The program prints its own
// address.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { Provider } from 'oidc-provider';

const server = createServer();
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const issuer = `http://127.0.0.1:${server.address().port}`;

let person = null;
const people = new Map();

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: 'console',
      client_secret: 'a-secret-of-the-console',
      redirect_uris: [process.argv[2]],
      post_logout_redirect_uris: [new URL('/console', process.argv[2]).href],
      grant_types: ['authorization_code'],
      response_types: ['code'],
    },
  ],
  pkce: { required: () => true },
  // OpenID Connect Core §5.4: if the client gets a code, the claims of scopes are in the UserInfo response instead of
  // the ID token.
  conformIdTokenClaims: true,
  scopes: ['openid', 'profile', 'email', 'groups'],
  claims: { openid: ['sub'], profile: ['preferred_username'], email: ['email'], groups: ['groups', '_claim_names'] },
  features: { devInteractions: { enabled: false } },
  interactions: { url: () => '/interaction' },
  cookies: { keys: ['of this run'] },
  findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ sub, ...people.get(sub) }) }),
  // The provider grants every scope and claim that the client requests.
  async loadExistingGrant({ oidc }) {
    const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
    grant.addOIDCScope('openid profile email groups');
    await grant.save();
    return grant;
  },
});

server.on('request', async (request, response) => {
  if (request.url === '/person') {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    person = JSON.parse(Buffer.concat(chunks).toString());
    if (person !== null) people.set(person.sub, person);
    response.writeHead(204).end();
  } else if (request.url === '/interaction') {
    const result = person === null ? { error: 'access_denied' } : { login: { accountId: person.sub } };
    await provider.interactionFinished(request, response, result);
  } else provider.callback()(request, response);
});
process.stdout.write(`${issuer}\n`);
