import type { BoundTool, ServerTool, ToolContext, ToolOutcome } from '../server-tool';

/** A use of a fake tool. */
export interface FakeUse {
  readonly args: unknown;
  readonly context: ToolContext;
}

export const found = (text: string, more: Partial<ToolOutcome> = {}): ToolOutcome => ({
  parts: [{ type: 'text', text }],
  isError: false,
  item: { said: text },
  costPicoUsd: 0n,
  ...more,
});

/** A tool that does as the test says, and remembers how it was used. */
export class FakeTool implements ServerTool {
  readonly uses: FakeUse[] = [];
  readonly bindings: { readonly parameters: object; readonly path: string }[] = [];

  constructor(
    readonly name: string,
    private readonly act: (use: FakeUse) => ToolOutcome | Promise<ToolOutcome> = () => found('Found.'),
    private readonly bound: Partial<BoundTool> = {},
    readonly aliases: readonly string[] = [],
  ) {}

  bind(parameters: Readonly<Record<string, unknown>>, path: string): BoundTool {
    this.bindings.push({ parameters, path });
    return {
      definition: { name: this.name, description: 'Does it.', parameters: { type: 'object' } },
      run: async (args, context) => {
        const use = { args, context };
        this.uses.push(use);
        return this.act(use);
      },
      ...this.bound,
    };
  }
}
