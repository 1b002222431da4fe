import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SignJWT } from 'jose';
import { HttpsHost } from '@libs/platform/testing';

export interface IssuerKey {
  readonly kid: string;
  readonly alg: 'ES256' | 'RS256';
  readonly privateKey: KeyObject;
  readonly jwk: Readonly<Record<string, unknown>>;
}

export function newIssuerKey(kid: string, alg: IssuerKey['alg'] = 'ES256', modulusLength = 2_048): IssuerKey {
  const { privateKey, publicKey } =
    alg === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', { modulusLength });
  return { kid, alg, privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid, alg, use: 'sig' } };
}

/** An issuer of tokens on loopback, over TLS with a certificate of its own. */
export class IdentityIssuer {
  readonly #folder = mkdtempSync(join(tmpdir(), 'sluice-issuer-'));
  /** What the key set holds. */
  keys: IssuerKey[] = [newIssuerKey('es'), newIssuerKey('rs', 'RS256')];
  /** When false, everything is answered with 503. */
  isUp = true;

  private constructor(private readonly host: HttpsHost) {
    writeFileSync(this.certificateFile, host.certificate);
    host.answerWith((request, response) => {
      const body = this.isUp ? this.#documentAt(request.url ?? '') : null;
      response.writeHead(this.isUp ? (body === null ? 404 : 200) : 503, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body ?? {}));
    });
  }

  static async start(): Promise<IdentityIssuer> {
    return new IdentityIssuer(await HttpsHost.start(() => undefined));
  }

  /** For `NODE_EXTRA_CA_CERTS`. */
  get certificateFile(): string {
    return join(this.#folder, 'certificate.pem');
  }

  get url(): string {
    return this.host.url('/tenant');
  }

  get jwksUrl(): string {
    return this.host.url('/keys');
  }

  /** How often the key set was fetched. */
  get fetches(): number {
    return this.host.requests.filter(({ path }) => path === '/keys').length;
  }

  /** A token that is good for ten minutes unless the claims say otherwise; undefined takes a claim out. */
  async sign(claims: object, header: object = {}, key: IssuerKey = this.keys[0]!): Promise<string> {
    const now = Math.floor(Date.now() / 1_000);
    return new SignJWT({ iss: this.url, iat: now, exp: now + 600, ...claims })
      .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'JWT', ...header })
      .sign(key.privateKey);
  }

  async stop(): Promise<void> {
    rmSync(this.#folder, { recursive: true, force: true });
    await this.host.stop();
  }

  #documentAt(path: string): object | null {
    if (path === '/tenant/.well-known/openid-configuration') return { issuer: this.url, jwks_uri: this.jwksUrl };
    return path === '/keys' ? { keys: this.keys.map(({ jwk }) => jwk) } : null;
  }
}
