"""Write visits.csv: 6,000 invented visits of 3,000 patients, with 1 to 3 visits each."""

from pathlib import Path

wards = ["north", "south", "harbour"]
lines = ["patient,ward,cost"]
for patient in range(3000):
    for visit in range(1 + patient % 3):
        ward, cost = wards[(patient * patient + visit) % 7 % 3], 100 + (patient * 37 + visit * 91) % 300
        lines.append(f"{patient},{ward},{cost:.1f}")
Path("visits.csv").write_text("\n".join(lines) + "\n")
