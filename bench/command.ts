/**
 * Runs a program. Ends the process with exit code 1 when the program fails or returns false, otherwise with exit code
 * 0.
 */
export function runCommand(main: () => Promise<boolean | void>): void {
  main().then(
    (isWell) => process.exit(isWell === false ? 1 : 0),
    (error: unknown) => {
      process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
      process.exit(1);
    },
  );
}
