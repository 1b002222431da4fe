import { createHash } from 'node:crypto';
import { sign } from 'aws4';

/** Long-lived or temporary keys of an AWS account. */
export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Of temporary keys. */
  readonly sessionToken?: string;
  /** For which the requests are signed; absent means as the host says. */
  readonly region?: string;
}

export interface SignableRequest {
  /** With the path exactly as it is sent; it has no query. */
  readonly url: URL;
  /** Exactly the bytes that are sent. */
  readonly body: Buffer;
  readonly service: string;
  readonly region: string;
  /** Milliseconds since the epoch. A signature is good for five minutes from then. */
  readonly nowMs: number;
}

/**
 * The headers that sign a POST request (AWS Signature Version 4): name, value, name, value, …. They cover the
 * host, the path, the date and the body; further headers may be sent unsigned.
 */
export function signatureHeaders(request: SignableRequest, credentials: AwsCredentials): string[] {
  const { url, body, service, region, nowMs } = request;
  const { accessKeyId, secretAccessKey, sessionToken } = credentials;
  const { headers = {} } = sign(
    {
      service,
      region,
      method: 'POST',
      path: url.pathname,
      headers: {
        host: url.host,
        'x-amz-date': new Date(nowMs).toISOString().replace(/[:-]|\.\d{3}/g, ''),
        'x-amz-content-sha256': createHash('sha256').update(body).digest('hex'),
        ...(sessionToken !== undefined && { 'x-amz-security-token': sessionToken }),
      },
    },
    { accessKeyId, secretAccessKey },
  );
  // The host is written by the HTTP client.
  return Object.entries(headers)
    .filter(([name]) => name !== 'host')
    .flatMap(([name, value]) => [name.toLowerCase(), String(value)]);
}

const REGION = /(?:^|\.)([a-z]{2,4}(?:-[a-z]+){1,3}-\d{1,2})\./;

/** The region that a host of AWS names, e.g. `bedrock-runtime.us-east-1.amazonaws.com`; null for other hosts. */
export function regionOfHost(host: string): string | null {
  return REGION.exec(host)?.[1] ?? null;
}
