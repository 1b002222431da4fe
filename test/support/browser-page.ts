import type { DevtoolsSession } from './devtools-connection';
import { eventually } from './eventually';

export interface BrowserCookie {
  readonly name: string;
  readonly value: string;
  readonly path: string;
  readonly httpOnly: boolean;
  readonly secure: boolean;
  readonly sameSite?: 'Strict' | 'Lax' | 'None';
}

/** What a person reads beside a field, and what stands in it; of a list the chosen words. */
export type SeenFields = Readonly<Record<string, string>>;

interface LifecycleEvent {
  readonly frameId: string;
  readonly loaderId: string;
  readonly name: string;
}

const PATIENCE_MS = 30_000;

/** Left out is what nobody sees. */
const SEEN_FIELDS = `Object.fromEntries([...document.querySelectorAll('label')]
  .filter(({ control }) => control !== null && control.checkVisibility())
  .map(({ innerText, control }) => [innerText, control.selectedOptions?.[0].text ?? control.value]))`;

/** One visitor's page in a browser: it is read, filled in and clicked as a person would. */
export class BrowserPage {
  #frameId = '';
  /** The documents of the page that are loaded, in their order. */
  readonly #loaded: string[] = [];

  private constructor(private readonly session: DevtoolsSession) {}

  static async attach(session: DevtoolsSession, hasJavaScript: boolean): Promise<BrowserPage> {
    const page = new BrowserPage(session);
    session.onEvent((method, params) => {
      if (method === 'Page.lifecycleEvent') page.#onLifecycle(params as unknown as LifecycleEvent);
    });
    await session.ask('Page.enable');
    const { frameTree } = await session.ask<{ frameTree: { frame: { id: string } } }>('Page.getFrameTree');
    page.#frameId = frameTree.frame.id;
    await session.ask('Page.setLifecycleEventsEnabled', { enabled: true });
    await session.ask('Emulation.setScriptExecutionDisabled', { value: !hasJavaScript });
    return page;
  }

  /** Resolves when the page is loaded, also where it is a redirect's target. */
  async open(url: string): Promise<void> {
    const { loaderId, errorText } = await this.session.ask<{ loaderId?: string; errorText?: string }>('Page.navigate', {
      url,
    });
    if (errorText !== undefined) throw new Error(`${url} cannot be opened: ${errorText}`);
    await eventually(`${url} is loaded`, PATIENCE_MS, () => this.#loaded.includes(loaderId ?? '') || undefined);
  }

  /** Clicks with the mouse on what leads to another document, and waits until that is loaded. */
  async follow(selector: string): Promise<void> {
    const before = this.#loaded.length;
    await this.#click(selector);
    await eventually(`a click on ${selector} leads somewhere`, PATIENCE_MS, () =>
      this.#loaded.length > before ? true : undefined,
    );
  }

  /** Types into a field, in place of what stands there. */
  async fill(selector: string, text: string): Promise<void> {
    await this.evaluate(`document.querySelector(${JSON.stringify(selector)}).value = ''`);
    await this.session.ask('DOM.focus', { nodeId: await this.#find(selector) });
    await this.session.ask('Input.insertText', { text });
  }

  /** What stands on the page, as a person reads it. */
  text(): Promise<string> {
    return this.evaluate<string>('document.body.innerText');
  }

  address(): Promise<string> {
    return this.evaluate<string>('location.href');
  }

  fields(): Promise<SeenFields> {
    return this.evaluate<SeenFields>(SEEN_FIELDS);
  }

  /** The cookies that this visitor has for the page. */
  async cookies(): Promise<readonly BrowserCookie[]> {
    return (await this.session.ask<{ cookies: readonly BrowserCookie[] }>('Network.getCookies')).cookies;
  }

  /** In the page's own realm; the browser's tools may do so where the page's scripts may not run. */
  async evaluate<T>(expression: string): Promise<T> {
    const { result, exceptionDetails } = await this.session.ask<{ result: { value: T }; exceptionDetails?: object }>(
      'Runtime.evaluate',
      { expression, returnByValue: true },
    );
    if (exceptionDetails !== undefined) throw new Error(`${expression} fails on the page`);
    return result.value;
  }

  /** Where the frames of the page that could not be shown would have led. */
  async unshownFrames(): Promise<readonly string[]> {
    const { frameTree } = await this.session.ask<{
      frameTree: { childFrames?: readonly { frame: { unreachableUrl?: string } }[] };
    }>('Page.getFrameTree');
    return (frameTree.childFrames ?? []).flatMap(({ frame }) => frame.unreachableUrl ?? []);
  }

  #onLifecycle({ frameId, loaderId, name }: LifecycleEvent): void {
    if (frameId === this.#frameId && name === 'load') this.#loaded.push(loaderId);
  }

  async #find(selector: string): Promise<number> {
    const { root } = await this.session.ask<{ root: { nodeId: number } }>('DOM.getDocument');
    const { nodeId } = await this.session.ask<{ nodeId: number }>('DOM.querySelector', {
      nodeId: root.nodeId,
      selector,
    });
    if (nodeId === 0) throw new Error(`the page has no ${selector}; it says: ${await this.text()}`);
    return nodeId;
  }

  async #click(selector: string): Promise<void> {
    const nodeId = await this.#find(selector);
    await this.session.ask('DOM.scrollIntoViewIfNeeded', { nodeId });
    const { model } = await this.session.ask<{ model: { content: number[] } }>('DOM.getBoxModel', { nodeId });
    const [left = 0, top = 0, , , right = 0, bottom = 0] = model.content;
    const place = { x: (left + right) / 2, y: (top + bottom) / 2, button: 'left', clickCount: 1 };
    for (const type of ['mousePressed', 'mouseReleased']) {
      await this.session.ask('Input.dispatchMouseEvent', { ...place, type });
    }
  }
}
