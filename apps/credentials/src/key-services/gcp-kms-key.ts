import { Secret } from '@libs/contracts';
import { KeyServiceClient } from './key-service-client';
import type { ManagedKey } from './managed-key';

export interface GcpKmsPlaces {
  /** Host and port of the metadata server, which knows who this process is. */
  readonly GCE_METADATA_HOST?: string;
  /** Replaces Cloud KMS's own endpoint. */
  readonly CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDKMS?: string;
}

const METADATA_HOST = 'metadata.google.internal';
const TOKEN_PATH = '/computeMetadata/v1/instance/service-accounts/default/token';
const ENDPOINT = 'https://cloudkms.googleapis.com/';
/** A token is renewed this long before it expires. */
const MARGIN_MS = 60_000;

/** A symmetric key of Google Cloud KMS, by its REST API, with the service account of the machine or the pod. */
export class GcpKmsKey implements ManagedKey {
  readonly #client = new KeyServiceClient('Google Cloud KMS');
  readonly #tokenUrl: string;
  readonly #keyUrl: string;
  #token: { readonly token: Secret; readonly endsAtMs: number } | null = null;

  constructor({ path }: { readonly path: string }, places: GcpKmsPlaces) {
    this.#tokenUrl = `http://${places.GCE_METADATA_HOST ?? METADATA_HOST}${TOKEN_PATH}`;
    this.#keyUrl = new URL(`v1/${path}`, places.CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDKMS ?? ENDPOINT).href;
  }

  async encrypt(plain: Buffer, context: string): Promise<Buffer> {
    const answer = await this.#call('encrypt', { plaintext: plain.toString('base64') }, context);
    return Buffer.from(this.#client.textOf(answer, 'ciphertext'), 'base64');
  }

  async decrypt(encrypted: Buffer, context: string): Promise<Buffer> {
    const answer = await this.#call('decrypt', { ciphertext: encrypted.toString('base64') }, context);
    return Buffer.from(this.#client.textOf(answer, 'plaintext'), 'base64');
  }

  async #call(operation: string, members: object, context: string): Promise<Readonly<Record<string, unknown>>> {
    const additionalAuthenticatedData = Buffer.from(context).toString('base64');
    return this.#client.exchange({
      method: 'POST',
      url: `${this.#keyUrl}:${operation}`,
      headers: { authorization: `Bearer ${await this.#accessToken()}`, 'content-type': 'application/json' },
      body: Buffer.from(JSON.stringify({ ...members, additionalAuthenticatedData })),
    });
  }

  async #accessToken(): Promise<string> {
    if (this.#token === null || this.#token.endsAtMs - MARGIN_MS < performance.now()) {
      const headers = { 'metadata-flavor': 'Google' };
      const answer = await this.#client.exchange({ method: 'GET', url: this.#tokenUrl, headers });
      const token = new Secret(this.#client.textOf(answer, 'access_token'));
      this.#token = { token, endsAtMs: performance.now() + Number(answer.expires_in) * 1_000 };
    }
    return this.#token.token.reveal();
  }
}
