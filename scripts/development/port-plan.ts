import { freePorts, isPortFree } from '../services/ports';

/** The port on which each process of the development installation listens. */
export interface PortPlan {
  readonly gateway: number;
  readonly sandbox: number;
  readonly health: Readonly<Record<string, number>>;
}

export const SANDBOX_DEFAULT_PORT = 4_010;

const GATEWAY_DEFAULT_PORT = 8_080;

export const HEALTH_DEFAULT_PORTS: Readonly<Record<string, number>> = {
  gateway: 8_081,
  'batch-worker': 8_082,
  'video-worker': 8_083,
  credentials: 8_084,
  auth: 8_085,
};

type Say = (line: string) => void;

/** A port that was requested explicitly is used or refused; a default port in use is replaced with a message. */
async function choose(
  what: string,
  variable: string,
  asked: string | undefined,
  usual: number,
  say: Say,
): Promise<number> {
  if (asked !== undefined && asked !== '') {
    const port = Number(asked);
    if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new Error(`${variable} must be a port number`);
    if (!(await isPortFree(port))) throw new Error(`${variable} asks for a port that is already in use`);
    return port;
  }
  if (await isPortFree(usual)) return usual;
  const [port = 0] = await freePorts(1);
  say(`Port ${usual} is in use; ${what} takes ${port}.`);
  return port;
}

export async function planPorts(environment: NodeJS.ProcessEnv, say: Say): Promise<PortPlan> {
  const gateway = await choose('the gateway', 'PORT', environment.PORT, GATEWAY_DEFAULT_PORT, say);
  const sandbox = await choose(
    'the sandbox provider',
    'SANDBOX_PORT',
    environment.SANDBOX_PORT,
    SANDBOX_DEFAULT_PORT,
    say,
  );
  const health: Record<string, number> = {};
  for (const [app, usual] of Object.entries(HEALTH_DEFAULT_PORTS)) {
    health[app] = await choose(`the health port of ${app}`, 'HEALTH_PORT', undefined, usual, say);
  }
  return { gateway, sandbox, health };
}
