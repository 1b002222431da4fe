import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePorts, isPortFree } from './ports';

/** What a private server keeps between starts. */
export interface PrivateSettings {
  readonly id: string;
  readonly password: string;
  readonly ports: readonly number[];
}

/** Writes a new file and renames it: a reader sees the old text or the new one, never half of it. */
export function writeWhole(file: string, text: string, mode = 0o600): void {
  const beside = `${file}.${process.pid}.new`;
  writeFileSync(beside, text, { mode });
  renameSync(beside, file);
}

function stored(file: string): PrivateSettings | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as PrivateSettings;
  } catch {
    return undefined;
  }
}

/** Returns the settings in `folder`, created on the first call; chooses other ports if a stored one is in use. */
export async function privateSettings(folder: string, portCount: number): Promise<PrivateSettings> {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'settings.json');
  const old = stored(file);
  const portsAreFree = old !== undefined && (await Promise.all(old.ports.map(isPortFree))).every(Boolean);
  if (portsAreFree) return old;
  const settings = {
    id: old?.id ?? randomBytes(4).toString('hex'),
    password: old?.password ?? randomBytes(18).toString('base64url'),
    ports: await freePorts(portCount),
  };
  writeWhole(file, JSON.stringify(settings));
  return settings;
}
