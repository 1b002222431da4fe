import type { AppName } from '../support/installation-parts';

/** The processes of a storm's installation, by name, and the app that each runs. */
export const PROCESSES = {
  auth: 'auth',
  credentials: 'credentials',
  'gateway-1': 'gateway',
  'gateway-2': 'gateway',
  'batch-worker-1': 'batch-worker',
  'batch-worker-2': 'batch-worker',
  'video-worker': 'video-worker',
} as const satisfies Record<string, AppName>;
export type ProcessName = keyof typeof PROCESSES;
export const PROCESS_NAMES = Object.keys(PROCESSES) as ProcessName[];

export const GATEWAYS = ['gateway-1', 'gateway-2'] as const satisfies readonly ProcessName[];
export type GatewayName = (typeof GATEWAYS)[number];

export const SERVERS = ['postgres', 'rabbitmq', 'redis'] as const;
export type ServerName = (typeof SERVERS)[number];

/** Groups of providers that share an address: single calls, a provider's own batches, films. */
export const UPSTREAMS = ['calls', 'native', 'films'] as const;
export type UpstreamName = (typeof UPSTREAMS)[number];

export type Far = ServerName | UpstreamName;

/** From a process to what it talks to; each link has a proxy of its own. */
export interface LinkName {
  readonly process: ProcessName;
  readonly far: Far;
}

/** What a process talks to. */
export function farsOf(process: ProcessName): readonly Far[] {
  const others: Readonly<Partial<Record<AppName, readonly Far[]>>> = {
    // Batches that are deleted are deleted at their provider by the worker; gateways make single calls alone.
    gateway: ['redis', 'calls'],
    'batch-worker': ['calls', 'native'],
    'video-worker': ['films'],
  };
  return ['postgres', 'rabbitmq', ...(others[PROCESSES[process]] ?? [])];
}

export const LINKS: readonly LinkName[] = PROCESS_NAMES.flatMap((process) =>
  farsOf(process).map((far) => ({ process, far })),
);

export const linkText = ({ process, far }: LinkName): string => `${process}>${far}`;
