/** The sandbox provider's environment variables. */
export interface SandboxEnv {
  readonly host: string;
  /** 0 lets the operating system pick. */
  readonly port: number;
  readonly apiKey: string | undefined;
  readonly latencyMs: number;
  readonly record: boolean;
}

/**
 * Reads the environment. Throws one Error that names every malformed variable, never its value.
 */
export function readSandboxEnv(environment: NodeJS.ProcessEnv = process.env): SandboxEnv {
  const malformed: string[] = [];
  const integer = (name: string, fallback: number, maximum: number): number => {
    const text = environment[name];
    if (text === undefined || text === '') return fallback;
    if (/^\d{1,7}$/.test(text) && Number(text) <= maximum) return Number(text);
    malformed.push(`${name} must be a whole number from 0 to ${maximum}`);
    return fallback;
  };
  const flag = (name: string): boolean => {
    const text = environment[name] ?? '';
    if (['', '0', 'false'].includes(text)) return false;
    if (!['1', 'true'].includes(text)) malformed.push(`${name} must be 0 or 1`);
    return true;
  };
  const env: SandboxEnv = {
    host: environment.SANDBOX_HOST || '127.0.0.1',
    port: integer('SANDBOX_PORT', 4010, 65_535),
    apiKey: environment.SANDBOX_API_KEY || undefined,
    latencyMs: integer('SANDBOX_LATENCY_MS', 0, 600_000),
    record: flag('SANDBOX_RECORD'),
  };
  if (malformed.length > 0) throw new Error(`The sandbox provider cannot start: ${malformed.join('; ')}`);
  return env;
}
