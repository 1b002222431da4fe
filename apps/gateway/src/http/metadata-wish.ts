import type { IncomingHttpHeaders } from 'node:http';

/**
 * The name of the metadata member that the caller asks for, or null: nobody gets it who did not
 * ask by `X-<Service>-Metadata: enabled` or its earlier name `X-<Service>-Experimental-Metadata`.
 */
export function metadataMemberFor(headers: IncomingHttpHeaders, serviceName: string): string | null {
  const wish = headers[`x-${serviceName}-metadata`] ?? headers[`x-${serviceName}-experimental-metadata`];
  return typeof wish === 'string' && wish.toLowerCase() === 'enabled' ? `${serviceName}_metadata` : null;
}
