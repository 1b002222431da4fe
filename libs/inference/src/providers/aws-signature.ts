import { createHash } from 'node:crypto';
import { sign } from 'aws4';

/** Long-lived or temporary keys of an AWS account. */
export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Set for temporary keys. */
  readonly sessionToken?: string;
  /** Region for which requests are signed; absent: taken from the host. */
  readonly region?: string;
}

export interface SignableRequest {
  /** The URL with the path exactly as it is sent, without a query. */
  readonly url: URL;
  /** Exactly the bytes that are sent. */
  readonly body: Buffer;
  readonly service: string;
  readonly region: string;
  /** Milliseconds since the epoch. A signature is valid for five minutes after this time. */
  readonly nowMs: number;
}

/**
 * Returns the headers that sign a POST request (AWS Signature Version 4): name, value, name, value, …. They cover the
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
  // The HTTP client writes the host header.
  return Object.entries(headers)
    .filter(([name]) => name !== 'host')
    .flatMap(([name, value]) => [name.toLowerCase(), String(value)]);
}

const REGION = /(?:^|\.)([a-z]{2,4}(?:-[a-z]+){1,3}-\d{1,2})\./;

/** Returns the region in an AWS host name, e.g. `bedrock-runtime.us-east-1.amazonaws.com`; null for other hosts. */
export function regionOfHost(host: string): string | null {
  return REGION.exec(host)?.[1] ?? null;
}
