import { join } from 'node:path';
import { chromium, type Browser } from 'playwright-core';
import { root, stateFolder } from '../../scripts/checkout';
import { findChromium } from './chromium';

/** Every other name and address is nobody's: not even what Chromium does by itself leaves this machine. */
const LOOPBACK_ONLY = '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE localhost , EXCLUDE 127.0.0.1';

/**
 * A headless Chromium with an empty profile; it ends with `close`, and with this process. Each `newPage` is a visitor
 * of their own, who has no cookie of another. @throws Error where no Chromium is to be had or it does not start
 */
export async function startBrowser(): Promise<Browser> {
  const { program, environment } = await findChromium();
  return chromium.launch({
    executablePath: join(root, 'test/support/chromium-and-tidy.sh'),
    args: ['--disable-gpu', '--disable-quic', LOOPBACK_ONLY],
    env: { PATH: process.env.PATH ?? '', ...environment, CHROMIUM: program },
    artifactsDir: join(stateFolder, 'browser'),
    // In jest's realm a handler of a signal takes away its effect, and is never called.
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
  });
}
