import type { IncomingHttpHeaders } from 'node:http';

/**
 * Returns the name of the metadata field; null unless the caller asks for it by `X-<Service>-Metadata: enabled` or the
 * earlier name `X-<Service>-Experimental-Metadata`.
 */
export function metadataMemberFor(headers: IncomingHttpHeaders, serviceName: string): string | null {
  const wish = headers[`x-${serviceName}-metadata`] ?? headers[`x-${serviceName}-experimental-metadata`];
  return typeof wish === 'string' && wish.toLowerCase() === 'enabled' ? `${serviceName}_metadata` : null;
}
