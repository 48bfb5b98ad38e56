"""A report as text, HTML or JSON, verdicts as JUnit and SARIF."""
