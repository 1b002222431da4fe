import { readFile } from 'node:fs/promises';
import { Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { KeyServiceClient } from './key-service-client';

export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: Secret;
  readonly sessionToken: Secret | null;
}

/** The environment variables that point to AWS credentials, with the names of AWS's own tools. */
export interface AwsCredentialPlaces {
  readonly AWS_ACCESS_KEY_ID?: string;
  readonly AWS_SECRET_ACCESS_KEY?: Secret;
  readonly AWS_SESSION_TOKEN?: Secret;
  /** URL of the agent of EKS Pod Identity or ECS. */
  readonly AWS_CONTAINER_CREDENTIALS_FULL_URI?: string;
  readonly AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE?: string;
}

/** Temporary credentials are renewed this long before they expire. */
const MARGIN_MS = 300_000;

/** Credentials of this process: from the environment, or from the agent of its container. */
export class AwsCredentialSource {
  readonly #client = new KeyServiceClient('the agent for AWS credentials');
  #temporary: { readonly credentials: AwsCredentials; readonly endsAtMs: number } | null = null;

  constructor(private readonly places: AwsCredentialPlaces) {}

  /** @throws AppError `server` where there are none */
  async get(): Promise<AwsCredentials> {
    const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = this.places;
    if (accessKeyId !== undefined && secretAccessKey !== undefined) {
      return { accessKeyId, secretAccessKey, sessionToken: this.places.AWS_SESSION_TOKEN ?? null };
    }
    if (this.#temporary === null || this.#temporary.endsAtMs - MARGIN_MS < Date.now()) {
      this.#temporary = await this.#fetch();
    }
    return this.#temporary.credentials;
  }

  async #fetch(): Promise<{ credentials: AwsCredentials; endsAtMs: number }> {
    const { AWS_CONTAINER_CREDENTIALS_FULL_URI: url, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file } = this.places;
    if (url === undefined) {
      throw new AppError('server', 'Internal error', { internal: 'there are no AWS credentials in the environment' });
    }
    // Read each time, because the file is rewritten while the process runs.
    const authorization = file === undefined ? null : (await readFile(file, 'utf8')).trim();
    const headers: Record<string, string> = authorization === null ? {} : { authorization };
    const answer = await this.#client.exchange({ method: 'GET', url, headers });
    const credentials = {
      accessKeyId: this.#client.textOf(answer, 'AccessKeyId'),
      secretAccessKey: new Secret(this.#client.textOf(answer, 'SecretAccessKey')),
      sessionToken: new Secret(this.#client.textOf(answer, 'Token')),
    };
    return { credentials, endsAtMs: Date.parse(this.#client.textOf(answer, 'Expiration')) };
  }
}
