import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export const AWS = {
  accessKeyId: 'AKIAEXAMPLE123456',
  secretAccessKey: 'aws/secret+access/key',
  sessionToken: 'temporary',
};
export const REGION = 'eu-west-1';
export const ARN = `arn:aws:kms:${REGION}:111122223333:key/0d5b5f6e`;
export const GCP_PATH = 'projects/acme/locations/europe/keyRings/sluice/cryptoKeys/byok';
export const GCP_TOKEN = 'ya29.of-the-metadata-server';
export const VAULT_TOKEN = 'hvs.of-the-credentials-app';

interface Asked {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  readonly members: Readonly<Record<string, string>>;
}

type Reply = readonly [number, object];
const REFUSED: Reply = [403, { message: 'denied' }];

/**
 * The three key management services on one port of loopback, as their documents describe the wire. Each checks who
 * asks in its own way and binds what it encrypts to the context it was given.
 */
export class KeyServiceStandIn {
  readonly asked: Asked[] = [];
  /** Answers so many requests with this status before it is well again. */
  failures: { status: number; count: number } = { status: 503, count: 0 };
  readonly #key = randomBytes(32);

  private constructor(private readonly server: Server) {
    server.on('request', (request, response) => {
      void this.#answer(request).then(([status, body]) => {
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      });
    });
  }

  static async start(): Promise<KeyServiceStandIn> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new KeyServiceStandIn(server);
  }

  get host(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  get url(): string {
    return `http://${this.host}/`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  async #answer(request: IncomingMessage): Promise<Reply> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const members = (text === '' ? {} : JSON.parse(text)) as Record<string, string>;
    const asked = { path: request.url ?? '', headers: request.headers, text, members };
    this.asked.push(asked);
    if (this.failures.count > 0) {
      this.failures.count -= 1;
      return [this.failures.status, { message: 'not now' }];
    }
    try {
      return this.#serve(asked);
    } catch {
      return [400, { __type: 'InvalidCiphertextException' }];
    }
  }

  #serve(asked: Asked): Reply {
    if (asked.path.startsWith('/computeMetadata/')) return metadata(asked);
    if (asked.path === '/agent') return agent(asked);
    if (asked.path.startsWith('/v1/transit/')) return this.#vault(asked);
    return asked.path.startsWith('/v1/projects/') ? this.#gcp(asked) : this.#aws(asked);
  }

  #aws({ headers, text, members }: Asked): Reply {
    if (!isSigned(headers, text) || members.KeyId !== ARN) return REFUSED;
    const context = JSON.stringify(members.EncryptionContext);
    const operation = String(headers['x-amz-target']);
    if (operation === 'TrentService.Encrypt') {
      return [200, { KeyId: ARN, CiphertextBlob: this.#encrypt(members.Plaintext!, context) }];
    }
    return [200, { KeyId: ARN, Plaintext: this.#decrypt(members.CiphertextBlob!, context) }];
  }

  #gcp({ path, headers, members }: Asked): Reply {
    if (headers.authorization !== `Bearer ${GCP_TOKEN}`) return REFUSED;
    const context = members.additionalAuthenticatedData!;
    if (path === `/v1/${GCP_PATH}:encrypt`) return [200, { ciphertext: this.#encrypt(members.plaintext!, context) }];
    if (path !== `/v1/${GCP_PATH}:decrypt`) return [404, {}];
    return [200, { plaintext: this.#decrypt(members.ciphertext!, context) }];
  }

  #vault({ path, headers, members }: Asked): Reply {
    if (headers['x-vault-token'] !== VAULT_TOKEN) return REFUSED;
    const context = members.associated_data!;
    if (path === '/v1/transit/encrypt/byok') {
      return [200, { data: { ciphertext: `vault:v1:${this.#encrypt(members.plaintext!, context)}` } }];
    }
    const [, encrypted = ''] = members.ciphertext!.split('vault:v1:');
    return [200, { data: { plaintext: this.#decrypt(encrypted, context) } }];
  }

  #encrypt(plain: string, context: string): string {
    const nonce = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce, { authTagLength: 16 }).setAAD(Buffer.from(context));
    const sealed = [nonce, cipher.update(Buffer.from(plain, 'base64')), cipher.final(), cipher.getAuthTag()];
    return Buffer.concat(sealed).toString('base64');
  }

  #decrypt(encrypted: string, context: string): string {
    const bytes = Buffer.from(encrypted, 'base64');
    const cipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, 12), { authTagLength: 16 });
    cipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(-16));
    return Buffer.concat([cipher.update(bytes.subarray(12, -16)), cipher.final()]).toString('base64');
  }
}

function metadata({ headers }: Asked): Reply {
  if (headers['metadata-flavor'] !== 'Google') return REFUSED;
  return [200, { access_token: GCP_TOKEN, expires_in: 3_599, token_type: 'Bearer' }];
}

function agent({ headers }: Asked): Reply {
  if (headers.authorization !== 'token of the pod') return REFUSED;
  const { accessKeyId: AccessKeyId, secretAccessKey: SecretAccessKey, sessionToken: Token } = AWS;
  const Expiration = new Date(Date.now() + 3_600_000).toISOString();
  return [200, { AccessKeyId, SecretAccessKey, Token, Expiration }];
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const hmac = (key: Buffer | string, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** Signature Version 4, worked out anew from what arrived. */
function isSigned(headers: IncomingMessage['headers'], body: string): boolean {
  const parts = /^AWS4-HMAC-SHA256 Credential=[^/]+\/([^,]+), SignedHeaders=([^,]+), Signature=(\w+)$/.exec(
    String(headers.authorization),
  );
  if (parts === null) return false;
  const [scope, names, signature] = parts.slice(1) as [string, string, string];
  const signed = names.split(';');
  if (!['host', 'x-amz-date', 'x-amz-target'].every((name) => signed.includes(name))) return false;
  const lines = signed.map((name) => `${name}:${String(headers[name]).trim()}\n`).join('');
  const canonical = ['POST', '/', '', lines, names, sha256(body)].join('\n');
  const [date, region, service] = scope.split('/') as [string, string, string];
  const key = ['aws4_request', service, region, date].reduceRight(
    (previous, part) => hmac(previous, part) as Buffer<ArrayBuffer>,
    Buffer.from(`AWS4${AWS.secretAccessKey}`),
  );
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, sha256(canonical)].join('\n');
  return region === REGION && service === 'kms' && hmac(key, text).toString('hex') === signature;
}
