import type { IncomingHttpHeaders } from 'node:http';
import { storedText } from './stored-text';

/** How the client describes itself, for the record of the call; nothing of it is checked or passed on. */
export interface CallClient {
  readonly requestId: string | undefined;
  readonly userAgent: string | undefined;
  /** The page that a browser called from. */
  readonly origin: string | undefined;
  /** How an application names itself: its address and its title. */
  readonly httpReferer: string | undefined;
  readonly appTitle: string | undefined;
  /** The span of the caller that this call is part of (W3C Trace Context); as it says, so perhaps none. */
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
