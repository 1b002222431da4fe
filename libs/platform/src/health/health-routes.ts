/**
 * Routes of an app on its health port besides health and metrics, by path. Anyone who reaches the port may call them.
 */
export class HealthRoutes {
  private readonly answers = new Map<string, () => object>();

  /** @param answer returns the JSON body; it may throw an AppError */
  add(path: string, answer: () => object): void {
    this.answers.set(path, answer);
  }

  find(path: string): (() => object) | undefined {
    return this.answers.get(path);
  }
}
