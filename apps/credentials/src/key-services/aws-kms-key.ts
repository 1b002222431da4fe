import { sign } from 'aws4';
import { AwsCredentialSource, type AwsCredentialPlaces } from './aws-credentials';
import { KeyServiceClient } from './key-service-client';
import type { ManagedKey } from './managed-key';

export interface AwsKmsPlaces extends AwsCredentialPlaces {
  /** Replaces the region's own endpoint. */
  readonly AWS_ENDPOINT_URL_KMS?: string;
}

/** A symmetric key of AWS KMS, by its JSON 1.1 protocol; requests are signed with Signature Version 4. */
export class AwsKmsKey implements ManagedKey {
  readonly #client = new KeyServiceClient('AWS KMS');
  readonly #credentials: AwsCredentialSource;
  readonly #endpoint: URL;

  constructor(
    private readonly key: { readonly arn: string; readonly region: string },
    places: AwsKmsPlaces,
  ) {
    this.#credentials = new AwsCredentialSource(places);
    const domain = key.arn.startsWith('arn:aws-cn:') ? 'amazonaws.com.cn' : 'amazonaws.com';
    this.#endpoint = new URL(places.AWS_ENDPOINT_URL_KMS ?? `https://kms.${key.region}.${domain}/`);
  }

  async encrypt(plain: Buffer, context: string): Promise<Buffer> {
    const answer = await this.#call('Encrypt', { Plaintext: plain.toString('base64') }, context);
    return Buffer.from(this.#client.textOf(answer, 'CiphertextBlob'), 'base64');
  }

  async decrypt(encrypted: Buffer, context: string): Promise<Buffer> {
    const answer = await this.#call('Decrypt', { CiphertextBlob: encrypted.toString('base64') }, context);
    return Buffer.from(this.#client.textOf(answer, 'Plaintext'), 'base64');
  }

  async #call(operation: string, members: object, context: string): Promise<Readonly<Record<string, unknown>>> {
    const body = JSON.stringify({ KeyId: this.key.arn, EncryptionContext: { sluice: context }, ...members });
    const { accessKeyId, secretAccessKey, sessionToken } = await this.#credentials.get();
    const { headers = {} } = sign(
      {
        service: 'kms',
        region: this.key.region,
        method: 'POST',
        path: this.#endpoint.pathname,
        body,
        headers: {
          host: this.#endpoint.host,
          'content-type': 'application/x-amz-json-1.1',
          'x-amz-target': `TrentService.${operation}`,
          ...(sessionToken !== null && { 'x-amz-security-token': sessionToken.reveal() }),
        },
      },
      { accessKeyId, secretAccessKey: secretAccessKey.reveal() },
    );
    const { host: _host, 'Content-Length': _length, ...signed } = headers as Record<string, string>;
    return this.#client.exchange({
      method: 'POST',
      url: this.#endpoint.href,
      headers: signed,
      body: Buffer.from(body),
    });
  }
}
