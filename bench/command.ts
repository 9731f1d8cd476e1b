/** Runs a manually started program and ends the process: with 1 when it fails or returns false, else with 0. */
export function runCommand(main: () => Promise<boolean | void>): void {
  main().then(
    (isWell) => process.exit(isWell === false ? 1 : 0),
    (error: unknown) => {
      process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
      process.exit(1);
    },
  );
}
