import { UsageError } from '../command';

export interface ServerAddress {
  /** Base URL of the server's own routes. */
  readonly root: string;
  /** `base_url` of a catalogue: the base URL of the routes of OpenAI's API. */
  readonly baseUrl: string;
}

/** Reads the address of a model server, with `/v1` or without. @throws UsageError, never with the address in it */
export function readServerAddress(text: string): ServerAddress {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new UsageError('URL must be an http or https URL such as http://127.0.0.1:11434');
  }
  if (url.username !== '' || url.password !== '') {
    throw new UsageError('URL must not have a login: name the variable with the key in --key-env');
  }
  if (url.search !== '' || url.hash !== '') throw new UsageError('URL must not have a query or fragment');
  const root = url.href.replace(/\/+$/, '').replace(/\/v1$/, '');
  return { root, baseUrl: `${root}/v1` };
}
