import { readFile, stat } from 'node:fs/promises';
import { isIP } from 'node:net';
import type { Provider } from '@libs/inference';
import type { DayRange } from '@libs/persistence';
import { UsageError } from '../command';
import type { Installation } from '../installation';
import { ANTHROPIC_REPORTS, readAnthropicReport } from './anthropic-report';
import type { ChargeReport } from './charge-facts';
import { readCsvReport } from './csv-report';
import { OPENAI_REPORTS, readOpenaiReport } from './openai-report';
import { ReportClient } from './report-client';

export interface ReportSource {
  /** A file to read instead of the provider's own report. */
  readonly csvFile: string | undefined;
  /** A part of the account at the provider. */
  readonly project: string | undefined;
}

const MAX_FILE_BYTES = 64 * 1024 * 1024;
const KEY_VARIABLES = { openai: 'OPENAI_ADMIN_KEY', anthropic: 'ANTHROPIC_ADMIN_KEY' } as const;

/** Reads what a provider charged, from its own reports or a file. @throws UsageError, AppError */
export async function readChargeReport(
  provider: Provider,
  days: DayRange,
  { csvFile, project }: ReportSource,
  installation: Installation,
): Promise<ChargeReport> {
  if (csvFile !== undefined) {
    if (project !== undefined) throw new UsageError('--project is for reports of the provider, not for --csv');
    return readCsvReport(await readText(csvFile), days);
  }
  const { protocol, baseUrl, slug } = provider;
  if (protocol !== 'openai' && protocol !== 'anthropic') {
    throw new UsageError(`${slug} has no report that can be read: give what it charged with --csv FILE`);
  }
  const key = installation.adminKey(protocol);
  if (key === null) {
    throw new UsageError(`set ${KEY_VARIABLES[protocol]} to an administrator's key of ${slug}, or give --csv FILE`);
  }
  if (!isSafeFor(baseUrl)) {
    throw new UsageError(`the base_url of ${slug} is not https: the administrator's key would be readable`);
  }
  return protocol === 'openai'
    ? readOpenaiReport(new ReportClient(baseUrl, key, OPENAI_REPORTS), days, project)
    : readAnthropicReport(new ReportClient(baseUrl, key, ANTHROPIC_REPORTS), days, project);
}

/** A key may go out encrypted, or stay on this machine. */
function isSafeFor(baseUrl: string): boolean {
  const { protocol, hostname } = new URL(baseUrl);
  const isLoopback =
    hostname === 'localhost' || hostname === '[::1]' || (isIP(hostname) === 4 && hostname.startsWith('127.'));
  return protocol === 'https:' || isLoopback;
}

async function readText(path: string): Promise<string> {
  try {
    const { size } = await stat(path);
    if (size > MAX_FILE_BYTES) throw new UsageError(`the CSV file has more than ${MAX_FILE_BYTES} bytes`);
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError('the CSV file cannot be read: give the path of a file that this account may read');
  }
}
