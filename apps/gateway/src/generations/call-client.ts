import type { IncomingHttpHeaders } from 'node:http';
import { storedText } from './stored-text';

/** How the client describes itself, for the record of the call. Not verified and not passed on. */
export interface CallClient {
  readonly requestId: string | undefined;
  readonly userAgent: string | undefined;
  /** The page that a browser called from. */
  readonly origin: string | undefined;
  /** The application's own URL and title. */
  readonly httpReferer: string | undefined;
  readonly appTitle: string | undefined;
  /** The caller's span to which this call belongs (W3C Trace Context). Not verified, so it may not exist. */
  readonly traceparent?: string | undefined;
}

/** `serviceName` is the `<service>` of `X-<Service>-Title`. */
export function clientOf(headers: IncomingHttpHeaders, requestId: string, serviceName: string): CallClient {
  return {
    requestId: storedText(requestId),
    userAgent: storedText(headers['user-agent']),
    origin: storedText(headers.origin),
    httpReferer: storedText(headers['http-referer']),
    traceparent: headers['traceparent']?.toString(),
    appTitle: storedText(headers[`x-${serviceName}-title`] ?? headers['x-title']),
  };
}
