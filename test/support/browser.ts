import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { BrowserPage } from './browser-page';
import { findChromium } from './chromium';
import { DevtoolsConnection } from './devtools-connection';

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
  '--remote-debugging-pipe',
];
const CLOSING_MS = 10_000;

/** A headless Chromium with an empty profile; it ends with `close`, and with this process. */
export class Browser {
  private constructor(
    private readonly child: ChildProcess,
    private readonly connection: DevtoolsConnection,
    private readonly profile: string,
  ) {}

  /** @throws Error where no Chromium is to be had or it does not start, with its last words */
  static async start(): Promise<Browser> {
    const { program, environment } = await findChromium();
    const profile = mkdtempSync(join(tmpdir(), 'sluice-browser-'));
    const child = spawn(program, [...FLAGS, `--user-data-dir=${profile}`, 'about:blank'], {
      stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH ?? '', HOME: profile, ...environment },
    });
    const [, , , input, output] = child.stdio as unknown as [null, null, Readable, Writable, Readable];
    const connection = new DevtoolsConnection(input, output);
    let lastWords = '';
    child.stderr?.on('data', (words: Buffer) => {
      lastWords = (lastWords + words.toString()).slice(-2_000);
    });
    const end = (why: string): void => connection.end(new Error(`${program} ${why}\n${lastWords}`));
    child.once('error', (error) => end(`cannot be started: ${error.message}`));
    child.once('exit', (code, signal) => end(`has ended with ${code ?? signal}`));
    const browser = new Browser(child, connection, profile);
    try {
      await connection.ask('Browser.getVersion');
      return browser;
    } catch (error) {
      await browser.close();
      throw error;
    }
  }

  /** A visitor of their own: no cookie of another page is theirs. */
  async newVisitor({ hasJavaScript = true } = {}): Promise<BrowserPage> {
    const { browserContextId } = await this.connection.ask<{ browserContextId: string }>('Target.createBrowserContext');
    const { targetId } = await this.connection.ask<{ targetId: string }>('Target.createTarget', {
      url: 'about:blank',
      browserContextId,
    });
    const { sessionId } = await this.connection.ask<{ sessionId: string }>('Target.attachToTarget', {
      targetId,
      flatten: true,
    });
    return BrowserPage.attach(this.connection.session(sessionId), hasJavaScript);
  }

  async close(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null && this.child.pid !== undefined) {
      const exit = once(this.child, 'exit');
      // It ends without an answer as often as with one.
      this.connection.ask('Browser.close').catch(() => undefined);
      const timer = setTimeout(() => this.child.kill('SIGKILL'), CLOSING_MS);
      await exit;
      clearTimeout(timer);
    }
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}
