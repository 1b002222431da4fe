import type { Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { KeyServiceClient } from './key-service-client';
import type { ManagedKey } from './managed-key';

export interface VaultPlaces {
  readonly VAULT_ADDR?: string;
  readonly VAULT_TOKEN?: Secret;
  readonly VAULT_NAMESPACE?: string;
}

/** A key of Vault's transit engine, of a type that authenticates associated data, such as `aes256-gcm96`. */
export class VaultTransitKey implements ManagedKey {
  readonly #client = new KeyServiceClient('Vault');

  constructor(
    private readonly key: { readonly mount: string; readonly name: string },
    private readonly places: VaultPlaces,
  ) {}

  async encrypt(plain: Buffer, context: string): Promise<Buffer> {
    const data = await this.#call('encrypt', { plaintext: plain.toString('base64') }, context);
    return Buffer.from(this.#client.textOf(data, 'ciphertext'));
  }

  async decrypt(encrypted: Buffer, context: string): Promise<Buffer> {
    const data = await this.#call('decrypt', { ciphertext: encrypted.toString() }, context);
    return Buffer.from(this.#client.textOf(data, 'plaintext'), 'base64');
  }

  async #call(operation: string, members: object, context: string): Promise<Readonly<Record<string, unknown>>> {
    const { VAULT_ADDR: address, VAULT_TOKEN: token, VAULT_NAMESPACE: namespace } = this.places;
    if (address === undefined || token === undefined) {
      throw new AppError('server', 'Internal error', { internal: 'VAULT_ADDR and VAULT_TOKEN must be set' });
    }
    const { data } = await this.#client.exchange({
      method: 'POST',
      url: new URL(`/v1/${this.key.mount}/${operation}/${this.key.name}`, address).href,
      headers: {
        'x-vault-token': token.reveal(),
        'x-vault-request': 'true',
        'content-type': 'application/json',
        ...(namespace !== undefined && { 'x-vault-namespace': namespace }),
      },
      body: Buffer.from(JSON.stringify({ ...members, associated_data: Buffer.from(context).toString('base64') })),
    });
    return (data ?? {}) as Readonly<Record<string, unknown>>;
  }
}
