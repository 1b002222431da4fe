import { connect } from 'node:net';
import { Secret } from '@libs/contracts';
import type { ReadinessCheck } from './readiness';

const CONNECT_TIMEOUT_MS = 900;

const DEFAULT_PORTS: Readonly<Record<string, number>> = {
  'postgres:': 5432,
  'postgresql:': 5432,
  'amqp:': 5672,
  'amqps:': 5671,
  'redis:': 6379,
  'rediss:': 6379,
  'http:': 80,
  'https:': 443,
};

/**
 * Whether something accepts connections where the URL points. It proves less than a query does, and is for
 * apps that hold no connection of their own to ask.
 *
 * @throws Error when the URL has no host or no known port; the message does not show it
 */
export function tcpCheck(url: Secret | string): ReadinessCheck {
  const { host, port } = readAddress(typeof url === 'string' ? url : url.reveal());
  return () =>
    new Promise<boolean>((resolve) => {
      const socket = connect({ host, port });
      const settle = (reached: boolean): void => {
        socket.destroy();
        resolve(reached);
      };
      socket.setTimeout(CONNECT_TIMEOUT_MS, () => settle(false));
      socket.once('connect', () => settle(true));
      socket.once('error', () => settle(false));
    });
}

function readAddress(text: string): { host: string; port: number } {
  const url = URL.parse(text);
  const port = url && (url.port === '' ? DEFAULT_PORTS[url.protocol] : Number(url.port));
  if (!url || url.hostname === '' || !port) throw new Error('tcpCheck needs a URL with a host and a known port');
  return { host: url.hostname.replace(/^\[(.*)\]$/, '$1'), port };
}
